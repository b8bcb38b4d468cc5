package desired

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"example.com/nginx-operator/internal/naming"
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

func (in *input) setRollout(spec *appsv1ac.DeploymentSpecApplyConfiguration) {
	want := in.nginx.Spec.Rollout
	if want == nil {
		return
	}
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
