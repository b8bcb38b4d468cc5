package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// deployer stands in for the Deployment controller and the kubelets: it replaces the pods of an
// application with stand-ins of the Deployment's template, one after the other, and reports its
// progress. It records every template that the Deployment has had.
type deployer struct {
	t     *testing.T
	nginx client.ObjectKey
	made  int

	mu        sync.Mutex
	templates []corev1.PodTemplateSpec
	// fewest is the smallest number of ready pods since reset.
	fewest int
}

// deployerPause is the interval at which the deployer checks the pods, in addition to each change
// of the Deployment.
const deployerPause = 50 * time.Millisecond

func startDeployer(t *testing.T, nginx *v1alpha2.NginxOperator) *deployer {
	t.Helper()
	d := &deployer{t: t, nginx: client.ObjectKeyFromObject(nginx)}
	watching, err := client.NewWithWatch(plane.Config, client.Options{Scheme: kube.Scheme()})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := d.run(ctx, watching); err != nil && ctx.Err() == nil {
				t.Errorf("the stand-in of the Deployment controller: %v", err)
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return d
}

// run follows the Deployment until the watch ends.
func (d *deployer) run(ctx context.Context, c client.WithWatch) error {
	watcher, err := c.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(d.nginx.Namespace), client.MatchingFields{"metadata.name": naming.Workload(d.nginx.Name)})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	tick := time.NewTicker(deployerPause)
	defer tick.Stop()
	var live *appsv1.Deployment
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return nil
			}
			if deployment, ok := event.Object.(*appsv1.Deployment); ok {
				live = deployment
				d.note(live.Spec.Template)
			}
			continue
		case <-tick.C:
		}
		if live == nil {
			continue
		}
		if err := d.step(ctx, live.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
}

func (d *deployer) note(template corev1.PodTemplateSpec) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.templates); n == 0 || !apiequality.Semantic.DeepEqual(d.templates[n-1], template) {
		d.templates = append(d.templates, template)
	}
}

// reset forgets all templates but the current one.
func (d *deployer) reset() corev1.PodTemplateSpec {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.templates = d.templates[len(d.templates)-1:]
	d.fewest = 1 << 30
	return d.templates[0]
}

// sequence returns the templates that the Deployment has had since reset, in order.
func (d *deployer) sequence() []corev1.PodTemplateSpec {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.templates)
}

// seen returns the distinct templates that the Deployment has had since reset.
func (d *deployer) seen() []corev1.PodTemplateSpec {
	d.mu.Lock()
	defer d.mu.Unlock()
	var distinct []corev1.PodTemplateSpec
	for _, template := range d.templates {
		if !slices.ContainsFunc(distinct, func(other corev1.PodTemplateSpec) bool { return apiequality.Semantic.DeepEqual(other, template) }) {
			distinct = append(distinct, template)
		}
	}
	return distinct
}

func (d *deployer) fewestReady() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fewest
}

// step takes one step that the Deployment controller would take, and reports the status.
func (d *deployer) step(ctx context.Context, live *appsv1.Deployment) error {
	current, old, err := d.pods(ctx, live)
	if err != nil {
		return err
	}
	want := int(*live.Spec.Replicas)
	ready := countReady(current) + countReady(old)
	d.mu.Lock()
	d.fewest = min(d.fewest, ready)
	d.mu.Unlock()
	switch {
	case live.Spec.Paused:
	case len(old) > 0 && (!observe.Ready(&old[0]) || ready > want):
		err = kube.Delete(ctx, &old[0])
	case len(current) > want:
		err = kube.Delete(ctx, &current[0])
	case len(current) < want && len(current)+len(old) <= want:
		d.made++
		_, err = startStandIn(ctx, d.t, &v1alpha2.NginxOperator{ObjectMeta: live.ObjectMeta}, fmt.Sprintf("%s-%d", live.Name, d.made), live.Spec.Template)
	}
	if err != nil {
		return err
	}
	return d.report(ctx, live, current, old)
}

// pods returns the pods of the current template and the old ones. Of the old ones, pods that are
// not ready come first.
func (d *deployer) pods(ctx context.Context, live *appsv1.Deployment) (current, old []corev1.Pod, err error) {
	list := &corev1.PodList{}
	if err := kube.List(ctx, list, client.InNamespace(live.Namespace), client.MatchingLabels(naming.SelectorLabels(live.Name))); err != nil {
		return nil, nil, err
	}
	for _, pod := range list.Items {
		if observe.TemplateOf(&pod) == live.Spec.Template.Annotations[naming.AnnotationTemplate] {
			current = append(current, pod)
		} else {
			old = append(old, pod)
		}
	}
	slices.SortStableFunc(old, func(a, b corev1.Pod) int {
		if observe.Ready(&a) == observe.Ready(&b) {
			return 0
		}
		if observe.Ready(&b) {
			return -1
		}
		return 1
	})
	return current, old, nil
}

func countReady(pods []corev1.Pod) int {
	n := 0
	for i := range pods {
		if observe.Ready(&pods[i]) {
			n++
		}
	}
	return n
}

// report writes the Deployment's status if it has changed.
func (d *deployer) report(ctx context.Context, live *appsv1.Deployment, current, old []corev1.Pod) error {
	want := int(*live.Spec.Replicas)
	status := appsv1.DeploymentStatus{
		ObservedGeneration: live.Generation,
		Replicas:           int32(len(current) + len(old)),
		UpdatedReplicas:    int32(len(current)),
		ReadyReplicas:      int32(countReady(current) + countReady(old)),
		AvailableReplicas:  int32(countReady(current) + countReady(old)),
	}
	reason := "ReplicaSetUpdated"
	if countReady(current) == want && len(old) == 0 {
		reason = "NewReplicaSetAvailable"
	}
	status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason}}
	if apiequality.Semantic.DeepEqual(live.Status, status) {
		return nil
	}
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	return kube.Status().Patch(ctx, live, client.RawPatch("application/merge-patch+json", text))
}

// rolled is an application whose pods a deployer replaces.
type rolled struct {
	*deployer
	t     *testing.T
	nginx *v1alpha2.NginxOperator
}

// newRolled creates an application and waits until it is Ready.
func newRolled(t *testing.T, spec v1alpha2.NginxOperatorSpec) *rolled {
	t.Helper()
	nginx := create(t, newNamespace(t), "web", spec)
	r := &rolled{deployer: startDeployer(t, nginx), t: t, nginx: nginx}
	r.waitReady()
	return r
}

// changeSpec changes the spec without waiting for anything.
func (r *rolled) changeSpec(change func(*v1alpha2.NginxOperatorSpec)) {
	r.t.Helper()
	eventually(r.t, "change the spec", func() error {
		if err := get(r.t, r.nginx); err != nil {
			return err
		}
		change(&r.nginx.Spec)
		return kube.Update(r.t.Context(), r.nginx)
	})
}

func (r *rolled) waitReady() {
	r.t.Helper()
	waitCondition(r.t, r.nginx, v1alpha2.ConditionReady, "True", v1alpha2.ReasonReady)
}

// pods returns the Deployment's template, and an error unless every pod is ready and has that
// template.
func (r *rolled) pods() (corev1.PodTemplateSpec, error) {
	live, ok := ownedObject(r.t, r.nginx, "Deployment").(*appsv1.Deployment)
	if !ok {
		return corev1.PodTemplateSpec{}, errors.New("there is no Deployment")
	}
	current, old, err := r.deployer.pods(r.t.Context(), live)
	if err == nil && (countReady(current) != int(*live.Spec.Replicas) || len(old) > 0) {
		err = fmt.Errorf("%d pods of the template and %d others, %d replicas", countReady(current), len(old), *live.Spec.Replicas)
	}
	return live.Spec.Template, err
}
