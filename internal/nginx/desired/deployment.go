package desired

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// deployment runs the nginx pods.
func deployment(in *input) (object, error) {
	d, err := manifests.Decode[appsv1ac.DeploymentApplyConfiguration]("deployment.yaml")
	if err != nil {
		return object{}, err
	}
	d.ObjectMetaApplyConfiguration = in.meta(naming.Workload(in.app.Name))
	d.Spec.WithSelector(in.selector())
	d.Spec.Replicas = in.replicas()
	in.setRollout(d.Spec)
	d.Spec.Template = in.selection.Run.Template
	return object{d, d.ObjectMetaApplyConfiguration}, nil
}

// setRollout applies the user's tuning, restricted while the first new pods prove themselves.
func (in *input) setRollout(spec *appsv1ac.DeploymentSpecApplyConfiguration) {
	want := ptr.Deref(in.app.Spec.Rollout, v1alpha2.Rollout{})
	applyTuning(spec, want)
	surges := revision.AllowsSurge(want)
	switch {
	case in.selection.Mode == revision.Held:
		pause(spec, surges)
	case in.selection.Began == nil:
	case in.selection.Paused:
		pause(spec, surges)
		// The canary may be promoted, or no longer declared, during the pause.
		if canary := in.selection.Canary; canary != nil && in.selection.Step.Stage == history.Canary {
			spec.Strategy.RollingUpdate.WithMaxSurge(intstr.FromInt(canary.Replicas))
		}
	case in.selection.Step.Stage == history.Proving:
		holdRollingUpdate(spec, rollout.Proof, surges)
	case in.selection.Step.Stage == history.Canary:
		// A paused Deployment would not do: once as many new pods are available as there are replicas, the Deployment
		// controller removes the old ones, paused or not.
		canary := in.selection.Canary
		holdRollingUpdate(spec, canaryMargin+int32((canary.Duration+canary.Wait).Seconds()), true)
		spec.Strategy.RollingUpdate.WithMaxSurge(intstr.FromInt(canary.Replicas))
	case in.selection.Step.Stage == history.Rolling && in.selection.Step.Stuck > 0 && surges:
		spec.Strategy.RollingUpdate.WithMaxSurge(intstr.FromInt(in.maxSurgeWithStuckPods(in.selection.Step.Stuck, want.MaxSurge)))
	}
}

// applyTuning applies what the user declares.
func applyTuning(spec *appsv1ac.DeploymentSpecApplyConfiguration, want v1alpha2.Rollout) {
	if want.MaxSurge != nil {
		spec.Strategy.RollingUpdate.WithMaxSurge(*want.MaxSurge)
	}
	if want.MaxUnavailable != nil {
		spec.Strategy.RollingUpdate.WithMaxUnavailable(*want.MaxUnavailable)
	}
	if want.MinReadySeconds != nil {
		spec.WithMinReadySeconds(*want.MinReadySeconds)
	}
	if want.ProgressDeadlineSeconds != nil {
		spec.WithProgressDeadlineSeconds(*want.ProgressDeadlineSeconds)
	}
}

// pause keeps the Deployment controller from replacing any more pods. spec.paused alone would not: once as many new pods are
// available as there are replicas, the controller removes the old ones, paused or not.
func pause(spec *appsv1ac.DeploymentSpecApplyConfiguration, surges bool) {
	holdRollingUpdate(spec, forGood, surges)
	spec.WithPaused(true)
}

// maxSurgeWithStuckPods returns how many pods may be added while nodes hold up some, which would otherwise take the places of
// all others. An added one may get the same node, so there are few.
func (in *input) maxSurgeWithStuckPods(stuck int, maxSurge *intstr.IntOrString) int {
	replicas := 1
	if w := in.state.Workload(); w != nil {
		replicas = int(w.Wanted)
	}
	surge, err := intstr.GetScaledValueFromIntOrPercent(new(ptr.Deref(maxSurge, intstr.FromString("25%"))), replicas, true)
	if err != nil {
		surge = 1
	}
	return surge + min(stuck, max(1, replicas/4))
}

// canaryMargin is how many seconds longer than their comparison canaries have to be ready before the Deployment
// controller continues by itself, if the operator is gone.
const canaryMargin = 3600

// forGood is a number of seconds for which no pod is ever ready.
const forGood = math.MaxInt32 - 1

// holdRollingUpdate keeps the Deployment controller from removing a serving pod until a new one has been ready for
// some seconds. If no new pod may start before an old one stops, as many stop as the user allows, and no more until
// then: the API server accepts no strategy that allows neither.
func holdRollingUpdate(spec *appsv1ac.DeploymentSpecApplyConfiguration, seconds int32, surges bool) {
	if surges {
		spec.Strategy.RollingUpdate.WithMaxUnavailable(intstr.FromInt32(0))
	}
	spec.WithMinReadySeconds(max(seconds, ptr.Deref(spec.MinReadySeconds, 0)))
	// The API server requires the deadline to be longer. The user's deadline still holds, see rollout.TemplateInput.
	spec.WithProgressDeadlineSeconds(max(ptr.Deref(spec.ProgressDeadlineSeconds, 0), *spec.MinReadySeconds+1))
}
