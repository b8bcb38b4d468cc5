package desired

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// podServices returns the Services of single pods, and the absence of those whose pods are no longer requested. As long
// as a pod exists, its Service does: it still serves.
func (in *input) podServices() ([]owned.Intent, error) {
	if in.app.Stateful == nil || !in.app.Stateful.PodServices {
		return nil, nil
	}
	kind, wanted := Kind(in.app.Workload(), "Service"), in.podServiceNames()
	intents := make([]owned.Intent, 0, len(wanted))
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		intent := owned.Intent{Kind: kind, Name: name}
		if wanted[name] {
			built, err := in.podService(name)
			if err == nil {
				intent, err = built.intent(kind)
			}
			if err != nil {
				return nil, err
			}
		}
		intents = append(intents, intent)
	}
	return intents, nil
}

// podServiceNames returns the names of all Services of single pods, and whether each should exist.
func (in *input) podServiceNames() map[string]bool {
	wanted := map[string]bool{}
	for key := range in.state.Owned {
		if key.Kind == "Service" && key.Name != naming.Service(in.app.Name) {
			wanted[key.Name] = false
		}
	}
	for ordinal := range int(ptr.Deref(in.app.Spec.Replicas, 1)) {
		wanted[naming.Pod(in.app.Name, ordinal)] = true
	}
	for i := range in.state.Pods {
		wanted[in.state.Pods[i].Name] = true
	}
	return wanted
}

// podService gives a pod an address that stays the same when the pod is replaced. While it terminates, and no other pod
// is ready, its connections still reach it.
func (in *input) podService(pod string) (object, error) {
	svc, err := manifests.Decode[corev1ac.ServiceApplyConfiguration]("service.yaml")
	if err != nil {
		return object{}, err
	}
	svc.ObjectMetaApplyConfiguration = in.meta(pod)
	selector := maps.Clone(naming.SelectorLabels(in.app.Name))
	selector[appsv1.StatefulSetPodNameLabel] = pod
	svc.Spec.WithSelector(selector)
	for _, p := range podtemplate.Ports(&in.app.Spec) {
		svc.Spec.WithPorts(corev1ac.ServicePort().WithName(p.Name).WithPort(p.Port).WithTargetPort(intstr.FromString(p.Name)).WithProtocol(p.Protocol))
	}
	return object{svc, svc.ObjectMetaApplyConfiguration}, nil
}
