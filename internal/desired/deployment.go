package desired

import (
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
		spec.WithPaused(true)
	case in.began == nil:
	case in.step.Stage == history.Proving:
		careful(spec, rollout.Proof)
	case in.step.Stage == history.Canary:
		careful(spec, canaryMinReady)
		spec.Strategy.RollingUpdate.WithMaxSurge(intstr.FromInt(in.canary().Replicas))
		if in.step.Pause {
			spec.WithPaused(true)
		}
	}
}

// canaryMinReady is how many seconds there are to pause the rollout when the canaries are
// ready, until the Deployment controller would go on.
const canaryMinReady = 30

// careful keeps the Deployment controller from taking a pod away that serves until a new
// one has been ready for some seconds.
func careful(spec *appsv1ac.DeploymentSpecApplyConfiguration, seconds int32) {
	spec.Strategy.RollingUpdate.WithMaxUnavailable(intstr.FromInt32(0))
	spec.WithMinReadySeconds(max(seconds, ptr.Deref(spec.MinReadySeconds, 0)))
	// The API server wants the deadline to be the longer one. That of the user holds all the
	// same, see rollout.TemplateInput.
	spec.WithProgressDeadlineSeconds(max(ptr.Deref(spec.ProgressDeadlineSeconds, 0), *spec.MinReadySeconds+1))
}
