package desired

import (
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/rollout"
)

// deployment runs the nginx pods.
func deployment(in *input) (object, error) {
	d, err := decode[appsv1ac.DeploymentApplyConfiguration]("deployment.yaml")
	if err != nil {
		return object{}, err
	}
	d.ObjectMetaApplyConfiguration = in.meta(naming.Deployment(in.nginx.Name))
	d.Spec.WithSelector(in.selector())
	d.Spec.Replicas = in.replicas()
	in.setRollout(d.Spec)
	d.Spec.Template = in.template
	return object{d, d.ObjectMetaApplyConfiguration}, nil
}

// setRollout is the user's tuning, held back while the first new pods prove themselves.
func (in *input) setRollout(spec *appsv1ac.DeploymentSpecApplyConfiguration) {
	want := in.rolloutSpec()
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
	switch {
	case in.course.held():
		careful(spec, forGood, in.surges())
		spec.WithPaused(true)
	case in.began == nil:
	case in.step.Stage == history.Proving:
		careful(spec, rollout.Proof, in.surges())
	case in.step.Stage == history.Canary:
		// A paused Deployment would not do: once as many new pods are available as there are
		// replicas, the Deployment controller takes the old ones away, paused or not.
		canary := in.canary()
		careful(spec, canaryMargin+int32((canary.Duration+canary.Wait).Seconds()), true)
		spec.Strategy.RollingUpdate.WithMaxSurge(intstr.FromInt(canary.Replicas))
	case in.step.Stage == history.Rolling && in.step.Stuck > 0 && in.surges():
		spec.Strategy.RollingUpdate.WithMaxSurge(intstr.FromInt(in.surgeBeside(in.step.Stuck)))
	}
}

// surgeBeside is how many pods may come on top while so many are held up by their nodes, which would
// otherwise take the places of all others. Another one may be given to the same node, so there are few.
func (in *input) surgeBeside(stuck int) int {
	replicas := 1
	if d := in.state.Deployment(); d != nil {
		replicas = int(ptr.Deref(d.Spec.Replicas, 1))
	}
	surge, err := intstr.GetScaledValueFromIntOrPercent(new(ptr.Deref(in.rolloutSpec().MaxSurge, intstr.FromString("25%"))), replicas, true)
	if err != nil {
		surge = 1
	}
	return surge + min(stuck, max(1, replicas/4))
}

// canaryMargin is how many seconds longer than they may be compared canaries have to be ready until
// the Deployment controller would go on by itself, with the operator gone.
const canaryMargin = 3600

// forGood is a number of seconds for which no pod is ever ready.
const forGood = math.MaxInt32 - 1

// careful keeps the Deployment controller from taking a pod away that serves until a new
// one has been ready for some seconds. Where none may come before one goes, as many go as the user
// allows, and no more until then: the API server takes no strategy by which neither may be.
func careful(spec *appsv1ac.DeploymentSpecApplyConfiguration, seconds int32, surges bool) {
	if surges {
		spec.Strategy.RollingUpdate.WithMaxUnavailable(intstr.FromInt32(0))
	}
	spec.WithMinReadySeconds(max(seconds, ptr.Deref(spec.MinReadySeconds, 0)))
	// The API server wants the deadline to be the longer one. That of the user holds all the
	// same, see rollout.TemplateInput.
	spec.WithProgressDeadlineSeconds(max(ptr.Deref(spec.ProgressDeadlineSeconds, 0), *spec.MinReadySeconds+1))
}
