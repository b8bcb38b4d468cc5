package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/load/site"
)

// badRollout is a change that does not work.
type badRollout struct {
	name string
	// oldest starts with the oldest nginx instead of the newest.
	oldest bool
	// config are the lines before the server.
	config string
	canary *v1alpha2.Canary
	// prepare changes the cluster so that the change fails.
	prepare func(context.Context, *rollbackRun) error
	// undo removes what prepare has created outside of the namespace.
	undo func(context.Context, *rollbackRun) error
	edit func(*bench, *v1alpha2.NginxOperatorSpec)
	// reason and texts must be in the condition.
	reason string
	texts  []string
	// limit is the time for which the failure cannot be known, in seconds.
	limit float64
	// deadline is rollout.progressDeadlineSeconds; 0: rollbackDeadline.
	deadline int32
	// minReady is rollout.minReadySeconds.
	minReady int32
	// answers reports whether the failure shows in the responses of the canary.
	answers bool
}

const (
	goodRevision = "good"
	// flawFolder is the folder whose files spoil a pod's responses.
	flawFolder   = "/srv/flaw"
	deniedLabel  = "example.com/denied"
	missingImage = "localhost/nginx:there-is-no-such-version"
	// pullPatience is how long an image pull may fail, in seconds.
	pullPatience = 60
	// canaryTime is rollout.canary.durationSeconds.
	canaryTime = 20
)

func badRollouts() []badRollout {
	b := append(badImages(), badPods()...)
	return append(append(b, badCanaries()...), refusedPods()...)
}

// badImages returns the failures that an image can cause.
func badImages() []badRollout {
	image := func(name string) func(*bench, *v1alpha2.NginxOperatorSpec) {
		return func(_ *bench, s *v1alpha2.NginxOperatorSpec) { s.Image = &name }
	}
	return []badRollout{
		{name: "missing image", reason: v1alpha2.ReasonImagePullFailed, texts: []string{missingImage}, limit: pullPatience, deadline: 2 * pullPatience, edit: image(missingImage)},
		{name: "no nginx inside", reason: v1alpha2.ReasonContainerCrashed, texts: []string{"the image has no nginx"},
			edit: func(b *bench, s *v1alpha2.NginxOperatorSpec) { s.Image = &b.loadImage }},
		{name: "wrong architecture", reason: v1alpha2.ReasonContainerCrashed, texts: []string{"exec format error"},
			edit: image(setting("E2E_ARM64_IMAGE", "localhost/nginx-arm64:dev"))},
		// nginx 1.25.1 dropped the directive.
		{name: "configuration refused by the new version", oldest: true, config: "ssl off;",
			reason: v1alpha2.ReasonConfigRejected, texts: []string{"site.conf:1", `unknown directive "ssl"`},
			edit: func(b *bench, s *v1alpha2.NginxOperatorSpec) { s.Image = new(b.newest()) }},
	}
}

// badPods returns the failures that the rest of the pod can cause.
func badPods() []badRollout {
	beside := func(c v1alpha2.Container) func(*bench, *v1alpha2.NginxOperatorSpec) {
		return func(b *bench, s *v1alpha2.NginxOperatorSpec) {
			c.Image = b.newest()
			s.PodTemplate = &v1alpha2.PodTemplate{Containers: []v1alpha2.Container{c}}
		}
	}
	// Be alternately ready and not ready, for some seconds each.
	flapping := func(seconds int) v1alpha2.Container {
		return v1alpha2.Container{Name: "flapping", Command: []string{"sleep", "infinity"}, ReadinessProbe: &corev1.Probe{
			PeriodSeconds: 1, FailureThreshold: 1, ProbeHandler: corev1.ProbeHandler{
				Exec: &corev1.ExecAction{Command: []string{"sh", "-c", fmt.Sprintf("test $(( $(date +%%s) / %d %% 2 )) = 0", seconds)}},
			},
		}}
	}
	return []badRollout{
		{name: "crash at start", reason: v1alpha2.ReasonContainerCrashed, texts: []string{"there are no settings"},
			edit: beside(v1alpha2.Container{Name: "helper", Command: []string{"sh", "-c", "echo there are no settings >&2; exit 1"}})},
		{name: "port never opens", reason: v1alpha2.ReasonConfigRejected, texts: []string{"9999", "no server listens"},
			edit: func(_ *bench, s *v1alpha2.NginxOperatorSpec) {
				s.Ports = append(s.Ports, v1alpha2.Port{Name: "closed", Port: 9999})
			}},
		{name: "unschedulable", reason: v1alpha2.ReasonUnschedulable, texts: []string{"no node takes the pod", "node(s) didn't match"}, limit: rollbackDeadline,
			edit: func(_ *bench, s *v1alpha2.NginxOperatorSpec) {
				s.PodTemplate = &v1alpha2.PodTemplate{NodeSelector: map[string]string{"example.com/no-such-node": "true"}}
			}},
		{name: "too little memory", reason: v1alpha2.ReasonConfigRejected, texts: []string{"memory"},
			edit: func(_ *bench, s *v1alpha2.NginxOperatorSpec) {
				s.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")}}
			}},
		{name: "readiness flapping", reason: v1alpha2.ReasonProgressDeadlineExceeded, limit: rollbackDeadline,
			edit: beside(flapping(3))},
		// The first pod stays ready for 5 s, and only minReadySeconds keeps the old ones.
		{name: "readiness flapping slowly, minReadySeconds 12", reason: v1alpha2.ReasonProgressDeadlineExceeded,
			limit: 2 * rollbackDeadline, minReady: 12, edit: beside(flapping(8))},
	}
}

// badCanaries returns the changes whose canaries serve worse than the stable pods.
func badCanaries() []badRollout {
	canary := &v1alpha2.Canary{DurationSeconds: new(int32(canaryTime))}
	judged := canary.DeepCopy()
	judged.MaxLatencyRatio = new(resource.MustParse("2"))
	mount := func(flaw string) func(*bench, *v1alpha2.NginxOperatorSpec) {
		return func(_ *bench, s *v1alpha2.NginxOperatorSpec) {
			s.Content = []v1alpha2.Content{{MountPath: flawFolder, ConfigMap: &v1alpha2.ConfigMapReference{Name: flaw}}}
		}
	}
	return []badRollout{
		{name: "canary with 5xx", canary: canary, reason: v1alpha2.ReasonCanaryFailed, texts: []string{"5xx"}, limit: canaryTime, answers: true, edit: mount("broken")},
		{name: "canary that is slow", canary: judged, reason: v1alpha2.ReasonCanaryFailed, texts: []string{"2 times as long"}, limit: canaryTime, edit: mount("slow")},
		{name: "canary of a configuration, with 5xx", canary: canary, reason: v1alpha2.ReasonCanaryFailed, texts: []string{"5xx"}, limit: canaryTime, answers: true,
			edit: func(_ *bench, s *v1alpha2.NginxOperatorSpec) {
				// The pod itself would take it back for its first answers, before the canary is judged.
				s.Rollout.FirstAnswers = new(v1alpha2.FirstAnswersIgnore)
				s.Config = config(map[string]string{"site.conf": flawedSite("", "return 500;")})
			}},
	}
}

// refusedPods returns the changes whose pods are never created.
func refusedPods() []badRollout {
	return []badRollout{
		{name: "quota exceeded", reason: v1alpha2.ReasonPodsNotCreated, texts: []string{"exceeded quota: full"}, limit: rollbackDeadline, prepare: fillQuota,
			edit: func(_ *bench, s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = new("against the quota") }},
		{name: "admission denied", reason: v1alpha2.ReasonPodsNotCreated, texts: []string{"such pods are not wanted"}, limit: rollbackDeadline, prepare: denyPods, undo: allowPods,
			edit: func(_ *bench, s *v1alpha2.NginxOperatorSpec) {
				s.PodTemplate = &v1alpha2.PodTemplate{Labels: map[string]string{deniedLabel: "true"}}
			}},
	}
}

// files returns the configuration of the application. Whether its responses are bad depends on
// files that only some pods have.
func (k badRollout) files() map[string]string {
	return map[string]string{"site.conf": flawedSite(k.config, "")}
}

// flawedSite returns a site with directives before the server and in its location.
func flawedSite(before, location string) string {
	padding := strings.Repeat("x", 3000)
	return fmt.Sprintf(`%s
server {
    listen %d;
    add_header %s %s always;
    location / {
        %s
        if (-f %s/broken) { return 500; }
        if (-f %s/slow) { set $limit_rate 2000; }
        return 200 "%s\n";
    }
}
`, before, site.Port, site.RevisionHeader, goodRevision, location, flawFolder, flawFolder, padding)
}

// createFlaws creates the ConfigMaps whose files spoil the responses of the pods that mount them.
func (r *rollbackRun) createFlaws(ctx context.Context) error {
	for _, name := range []string{"broken", "slow"} {
		flaw := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}, Data: map[string]string{name: ""}}
		if err := r.client.Create(ctx, flaw); err != nil {
			return err
		}
	}
	return nil
}

// fillQuota sets a quota that allows no more pods than there are.
func fillQuota(ctx context.Context, r *rollbackRun) error {
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "full"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(int64(len(pods.Items)), resource.DecimalSI),
		}},
	}
	if err := r.client.Create(ctx, quota); err != nil {
		return err
	}
	for len(quota.Status.Used) == 0 {
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("the quota is not in force: %w", err)
		}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
	}
	return nil
}

// denyPods creates a policy that denies pods with a label, and waits until it is in force.
func denyPods(ctx context.Context, r *rollbackRun) error {
	policy, binding := denial(r.namespace)
	if err := errors.Join(r.client.Create(ctx, policy), r.client.Create(ctx, binding)); err != nil {
		return err
	}
	return r.denied(ctx)
}

func allowPods(ctx context.Context, r *rollbackRun) error {
	policy, binding := denial(r.namespace)
	return errors.Join(client.IgnoreNotFound(r.client.Delete(ctx, binding)), client.IgnoreNotFound(r.client.Delete(ctx, policy)))
}

// denial returns a policy that denies pods with a label in a namespace, and its binding.
func denial(namespace string) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	name := namespace + "-denied"
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf("!has(object.metadata.labels) || !(%q in object.metadata.labels)", deniedLabel),
				Message:    "such pods are not wanted here",
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	return policy, binding
}

// denied waits until a pod may not have the label.
func (r *rollbackRun) denied(ctx context.Context) error {
	for {
		pods, err := r.pods(ctx, r.nginx)
		if err != nil || len(pods) == 0 {
			return errors.Join(err, pause(ctx, 0))
		}
		patch := fmt.Sprintf(`{"metadata":{"labels":{%q:"true"}}}`, deniedLabel)
		err = r.client.Patch(ctx, &pods[0], client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), "not wanted") {
			return nil
		}
		if err := pause(ctx, 250*time.Millisecond); err != nil {
			return fmt.Errorf("the policy is not in force: %w", err)
		}
	}
}
