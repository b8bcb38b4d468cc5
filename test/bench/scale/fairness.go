package scale

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/internal/webhook"
)

// noise is a way in which the applications of one namespace use up what all namespaces share.
type noise struct {
	name string
	// running is whether the changes begin once all pods of the applications run.
	running bool
	// objects is the number of applications; 0: as many as the options say.
	objects int
	// disturb wraps the instances of the namespace; nil: they answer.
	disturb disturbance
	// begin starts it before there are applications, and returns what ends it; nil: nothing has to start.
	begin func(ctx context.Context, b *bench, namespace string) (end func(context.Context) error, err error)
	// beside is done before each change of the application in the other namespace; nil: all applications are touched.
	beside func(ctx context.Context, b *bench, namespace string, n int) error
}

// atOnce is the number of applications that are created at once.
const atOnce = 300

// noises returns all ways, and first what touching applications costs that do nothing wrong.
func noises() []noise {
	return []noise{
		{name: "none misbehaves", running: true},
		{name: "an admission webhook never answers", begin: asWebhook(webhook.Hang)},
		{name: "an admission webhook fails", begin: asWebhook(webhook.Fail)},
		{name: "a policy refuses Deployments", begin: refuseDeployments},
		{name: "the namespace is being deleted", begin: terminate},
		{name: "pods never answer", running: true, disturb: func(string, http.Handler) http.Handler {
			return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		}},
		{name: "pods answer with a byte a second", running: true, disturb: trickle},
		{name: "pods answer with 10 MB", running: true, disturb: answerWith(`{"protocol":1,"certificates":[` + strings.Repeat("{},", 3_000_000) + `{}]}`)},
		{name: "pods answer with nonsense", running: true, disturb: answerWith(`{"protocol":1,"serving":{"a":[]}}`)},
		{name: "every pod refuses its configuration", running: true, beside: func(ctx context.Context, b *bench, namespace string, n int) error {
			return b.configureAll(ctx, namespace, fmt.Sprintf("bad %d", n))
		}},
		{name: "every application is changed before each edit", running: true, beside: func(ctx context.Context, b *bench, namespace string, n int) error {
			return b.configureAll(ctx, namespace, fmt.Sprintf("server { listen 80; return 200 noisy-%d; }", n))
		}},
		{name: "another controller relabels all Deployments", running: true, beside: rewriteDeployments},
		{name: "60 ConfigMaps of 1 MB with the operator's label", running: true, objects: 1, begin: fill},
		{name: "300 applications are created at once", objects: atOnce, beside: nothingBeside},
	}
}

// Fairness is the result of the changes beside one way.
type Fairness struct {
	name string
	// beside are the times until edits were served, and stored those until the API server had stored them.
	beside, stored latencies
	usage          usage
}

// FairnessResult has the times of changes of one application while another namespace misbehaves.
type FairnessResult struct {
	options Options
	// alone and stored are those of the edits while nothing else happens.
	alone, stored latencies
	ways          []Fairness
}

// MeasureFairness changes an application while those of another namespace misbehave, in each way.
func MeasureFairness(ctx context.Context, options Options) (result FairnessResult, err error) {
	result.options = options
	disturb := map[string]disturbance{}
	for i, way := range noises() {
		if way.disturb != nil {
			disturb[noisyNamespace(i)] = way.disturb
		}
	}
	err = withOperator(ctx, options, func(b *bench) error {
		_, stop, err := b.startNodes(ctx, disturb)
		if err != nil {
			return err
		}
		return errors.Join(b.fairness(ctx, &result), stop())
	})
	return result, err
}

func noisyNamespace(i int) string { return fmt.Sprintf("noisy-%d", i) }

func (b *bench) fairness(ctx context.Context, result *FairnessResult) (err error) {
	if err := b.creation(namespace, 1, PodsEach, ready)(ctx); err != nil {
		return err
	}
	if result.alone, result.stored, err = b.changes(ctx, "alone", nothing); err != nil {
		return err
	}
	for i, way := range noises() {
		b.Progress("%s", way.name)
		beside := Fairness{name: way.name}
		if err := b.changesBeside(ctx, way, noisyNamespace(i), &beside); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		b.Progress("%s: median %.2f s, alone %.2f s; processors: %s", way.name, beside.beside.quantile(0.5).Seconds(), result.alone.quantile(0.5).Seconds(), beside.usage)
		result.ways = append(result.ways, beside)
	}
	return nil
}

// changesBeside makes the changes while a namespace misbehaves, and removes its applications.
func (b *bench) changesBeside(ctx context.Context, way noise, noisy string, result *Fairness) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.Patience, fmt.Errorf("not finished within %s", b.Patience))
	defer cancel()
	if err := b.plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: noisy}}); err != nil {
		return err
	}
	objects := way.objects
	if objects == 0 {
		objects = b.Objects
	}
	if way.begin != nil {
		end, err := way.begin(ctx, b, noisy)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end(context.WithoutCancel(ctx))) }()
	}
	if err := b.createNoisy(ctx, noisy, objects); err != nil {
		return err
	}
	if way.running {
		if err := b.podsRun(ctx, noisy, objects*PodsEach); err != nil {
			return err
		}
	}
	before, err := b.meter()
	if err != nil {
		return err
	}
	beside := way.beside
	if beside == nil {
		beside = func(ctx context.Context, b *bench, noisy string, n int) error { return b.touch(ctx, noisy, objects, n) }
	}
	if result.beside, result.stored, err = b.changes(ctx, noisy, func(ctx context.Context, n int) error { return beside(ctx, b, noisy, n) }); err != nil {
		return err
	}
	if result.usage, err = b.used(before); err != nil {
		return err
	}
	return b.deleteNoisy(ctx, noisy)
}

// deleteNoisy deletes the applications of a namespace with their pods: no garbage collector runs here.
func (b *bench) deleteNoisy(ctx context.Context, noisy string) error {
	for _, kind := range []client.Object{&v1alpha2.NginxOperator{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}} {
		if err := b.plane.Client.DeleteAllOf(ctx, kind, client.InNamespace(noisy), client.GracePeriodSeconds(0)); err != nil {
			return err
		}
	}
	return nil
}

// createNoisy creates the applications of a namespace that misbehaves.
func (b *bench) createNoisy(ctx context.Context, noisy string, objects int) error {
	replicas := int32(PodsEach)
	return fleet.Each(ctx, objects, func(i int) error {
		nginx := fleet.Object(noisy, i)
		nginx.Spec.Replicas = &replicas
		if err := b.plane.Client.Create(ctx, nginx); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return err
		}
		return nil // It was created before the namespace was deleted.
	})
}

// podsRun waits until so many pods of a namespace run.
func (b *bench) podsRun(ctx context.Context, namespace string, want int) error {
	return wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		err := b.plane.Client.List(ctx, pods, client.InNamespace(namespace))
		running := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning })
		return len(running) == want, err
	})
}

// configureAll gives every application of a namespace a configuration.
func (b *bench) configureAll(ctx context.Context, namespace, text string) error {
	return fleet.Each(ctx, b.Objects, func(i int) error { return b.configure(ctx, namespace, i, text) })
}

func nothingBeside(context.Context, *bench, string, int) error { return nil }

func asWebhook(start func(context.Context, client.Client, string) (*webhook.Webhook, error)) func(context.Context, *bench, string) (func(context.Context) error, error) {
	return func(ctx context.Context, b *bench, namespace string) (func(context.Context) error, error) {
		w, err := start(ctx, b.plane.Client, namespace)
		if err != nil {
			return nil, err
		}
		return w.Stop, nil
	}
}

// refuseDeployments has the API server refuse Deployments in a namespace.
func refuseDeployments(ctx context.Context, b *bench, namespace string) (func(context.Context) error, error) {
	meta := metav1.ObjectMeta{Name: "no-deployments-in-" + namespace}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{appsv1.GroupName}, APIVersions: []string{"*"}, Resources: []string{"deployments"}},
			},
		}}},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no Deployments here"}},
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}},
	}}
	if err := errors.Join(b.plane.Client.Create(ctx, policy), b.plane.Client.Create(ctx, binding)); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return errors.Join(b.plane.Client.Delete(ctx, binding), b.plane.Client.Delete(ctx, policy))
	}, nil
}

// terminate creates the applications, and deletes the namespace, which then admits no new objects. No controller of this
// control plane finishes the deletion.
func terminate(ctx context.Context, b *bench, namespace string) (func(context.Context) error, error) {
	err := fleet.Create(ctx, b.plane.Client, namespace, b.Objects)
	return func(context.Context) error { return nil }, errors.Join(err, b.plane.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
}

// fill creates ConfigMaps that have the label of an application's.
func fill(ctx context.Context, b *bench, namespace string) (func(context.Context) error, error) {
	const number, size = 60, 1 << 20
	text := strings.Repeat("x", size-4096)
	return func(ctx context.Context) error {
			return b.plane.Client.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace))
		}, fleet.Each(ctx, number, func(i int) error {
			return b.plane.Client.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("large-%d", i), Labels: naming.Labels(fleet.Name(0))}, Data: map[string]string{"x": text},
			})
		})
}

// rewriteDeployments changes a label of all Deployments of a namespace, which the operator corrects: no pod changes.
func rewriteDeployments(ctx context.Context, b *bench, namespace string, n int) error {
	list := &appsv1.DeploymentList{}
	if err := b.plane.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	return fleet.Each(ctx, len(list.Items), func(i int) error {
		return client.IgnoreNotFound(b.plane.Client.Patch(ctx, &list.Items[i], merge(fmt.Sprintf(`{"metadata":{"labels":{"app.kubernetes.io/managed-by":"rival-%d"}}}`, n))))
	})
}

// trickle makes instances answer with a byte a second.
func trickle(string, http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(" ")); err != nil || control.Flush() != nil {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-r.Context().Done():
			}
		}
	})
}

// answerWith makes instances answer every request with a text.
func answerWith(text string) disturbance {
	return func(string, http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(text)) // The operator may close the connection.
		})
	}
}

// Figures returns the results with their goal.
func (r FairnessResult) Figures() []figure.Figure {
	const most = 2 // times as long as alone
	alone, stored := r.alone.quantile(0.5).Seconds(), r.stored.quantile(0.5).Seconds()
	all := []figure.Figure{
		figure.Info("applications that misbehave", float64(r.options.Objects), "applications"),
		figure.Info("a change alone, median", alone, "s"),
		figure.Info("a write of it to the API server, median", stored, "s"),
	}
	for _, way := range r.ways {
		all = append(all,
			figure.Info(way.name+": a change, median", way.beside.quantile(0.5).Seconds(), "s"),
			figure.Info(way.name+": a change, slowest", way.beside.quantile(1).Seconds(), "s"),
			figure.Info(way.name+": processors, operator", way.usage.operator.Seconds()/way.usage.span.Seconds(), "processors"),
			figure.Info(way.name+": processors, API server", way.usage.plane.Seconds()/way.usage.span.Seconds(), "processors"),
			figure.Info(way.name+": a write to the API server, of one alone", way.stored.quantile(0.5).Seconds()/stored, "×"),
			figure.HasGoal(way.name+": median, of that alone", way.beside.quantile(0.5).Seconds()/alone, "×", figure.AtMost(most)))
	}
	return all
}
