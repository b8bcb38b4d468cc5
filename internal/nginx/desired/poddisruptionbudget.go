package desired

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
)

// podDisruptionBudget keeps node drains from evicting more pods at a time than declared. There is none below 2 replicas,
// where it would block a drain forever.
func podDisruptionBudget(in *input) (object, error) {
	replicas := ptr.Deref(in.app.Spec.Replicas, 1)
	if live := in.state.Workload(); in.state.Autoscaler != "" && live != nil {
		replicas = live.Wanted
	}
	if replicas < 2 {
		return object{}, nil
	}
	pdb, err := manifests.Decode[policyv1ac.PodDisruptionBudgetApplyConfiguration]("poddisruptionbudget.yaml")
	if err != nil {
		return object{}, err
	}
	pdb.ObjectMetaApplyConfiguration = in.meta(naming.PodDisruptionBudget(in.app.Name))
	pdb.Spec.WithSelector(in.selector())
	if replicas > 10 {
		pdb.Spec.WithMaxUnavailable(intstr.FromString("10%"))
	}
	if want := in.app.Spec.Disruption; want != nil && (want.MinAvailable != nil || want.MaxUnavailable != nil) {
		pdb.Spec.MinAvailable, pdb.Spec.MaxUnavailable = want.MinAvailable, want.MaxUnavailable
	}
	return object{pdb, pdb.ObjectMetaApplyConfiguration}, nil
}
