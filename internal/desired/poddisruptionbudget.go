package desired

import (
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/naming"
)

// podDisruptionBudget keeps node drains from taking more than one pod at a time.
// There is none below 2 replicas, where it would block a drain for ever.
func podDisruptionBudget(in *input) (object, error) {
	replicas := ptr.Deref(in.nginx.Spec.Replicas, 1)
	if live := in.state.Deployment(); in.state.Autoscaler != "" && live != nil {
		replicas = ptr.Deref(live.Spec.Replicas, 1)
	}
	if replicas < 2 {
		return object{}, nil
	}
	pdb, err := decode[policyv1ac.PodDisruptionBudgetApplyConfiguration]("poddisruptionbudget.yaml")
	if err != nil {
		return object{}, err
	}
	pdb.ObjectMetaApplyConfiguration = in.meta(naming.PodDisruptionBudget(in.nginx.Name))
	pdb.Spec.WithSelector(in.selector())
	return object{pdb, pdb.ObjectMetaApplyConfiguration}, nil
}
