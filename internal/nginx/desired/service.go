package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// service gives the application a stable address.
func service(in *input) (object, error) {
	svc, err := manifests.Decode[corev1ac.ServiceApplyConfiguration]("service.yaml")
	if err != nil {
		return object{}, err
	}
	svc.ObjectMetaApplyConfiguration = in.meta(naming.Service(in.app.Name))
	svc.Spec.WithSelector(naming.SelectorLabels(in.app.Name))
	all, err := in.servicePorts()
	if err != nil {
		return object{}, err
	}
	svc.Spec.WithPorts(all...)
	want := ptr.Deref(in.app.Spec.Service, v1alpha2.Service{})
	if stateful := in.app.Stateful; stateful != nil && stateful.Headless || ptr.Deref(want.Headless, false) {
		svc.Spec.WithClusterIP(corev1.ClusterIPNone)
	}
	if in.app.Spec.Service != nil {
		setService(svc, &want)
	}
	return object{svc, svc.ObjectMetaApplyConfiguration}, nil
}

// setService sets what spec.service declares.
func setService(svc *corev1ac.ServiceApplyConfiguration, want *v1alpha2.Service) {
	addLabels(svc.ObjectMetaApplyConfiguration, want.Labels)
	svc.WithAnnotations(want.Annotations)
	svc.Spec.WithType(want.Type)
	svc.Spec.ExternalTrafficPolicy = want.ExternalTrafficPolicy
	svc.Spec.InternalTrafficPolicy = want.InternalTrafficPolicy
	svc.Spec.LoadBalancerClass = want.LoadBalancerClass
	svc.Spec.LoadBalancerSourceRanges = want.LoadBalancerSourceRanges
	svc.Spec.AllocateLoadBalancerNodePorts = want.AllocateLoadBalancerNodePorts
	svc.Spec.SessionAffinity = want.SessionAffinity
	svc.Spec.TrafficDistribution = want.TrafficDistribution
	svc.Spec.IPFamilyPolicy = want.IPFamilyPolicy
	if want.IPFamilyPolicy == nil && len(want.IPFamilies) == 1 {
		// The API server would keep the policy of a Service with two families, and refuse to release one of them.
		svc.Spec.WithIPFamilyPolicy(corev1.IPFamilyPolicySingleStack)
	}
	svc.Spec.WithIPFamilies(want.IPFamilies...)
	if seconds := want.SessionAffinityTimeoutSeconds; seconds != nil {
		svc.Spec.WithSessionAffinityConfig(corev1ac.SessionAffinityConfig().WithClientIP(corev1ac.ClientIPConfig().WithTimeoutSeconds(*seconds)))
	}
}

// servicePorts returns the ports of the pods that a rollout replaces until the rollout is complete. New pods serve
// these ports as far as they have them; other new ports follow when all pods have them. Node ports belong to the
// Service, so they are those of the spec.
func (in *input) servicePorts() ([]*corev1ac.ServicePortApplyConfiguration, error) {
	served, err := in.portsServed()
	if err != nil {
		return nil, err
	}
	everywhere, err := in.portsOfPods()
	if err != nil {
		return nil, err
	}
	var all []*corev1ac.ServicePortApplyConfiguration
	for _, p := range served {
		port := corev1ac.ServicePort().
			WithName(p.Name).
			WithPort(p.Port).
			WithTargetPort(target(p, everywhere)).
			WithProtocol(p.Protocol)
		if i := slices.IndexFunc(in.app.Spec.Ports, sameName(p)); i >= 0 {
			port.NodePort = in.app.Spec.Ports[i].NodePort
		}
		all = append(all, port)
	}
	return all, nil
}

// portsServed returns the ports of pods that are being replaced, or else of the revision that runs.
//
// The Service never returns from the ports of the revision that all pods were of last: a state with pods of another
// revision is then stale.
func (in *input) portsServed() ([]v1alpha2.Port, error) {
	run := podtemplate.Ports(&in.selection.Run.Spec)
	if last := in.state.History.LastGood(""); last != nil && last.Template == in.selection.Run.Hash && in.serviceHas(run) {
		return run, nil
	}
	for i := range slices.Backward(in.state.History) {
		r := &in.state.History[i]
		if in.replaced(r) && in.state.History.HasBeenGood(r.Template) {
			return revisionPorts(r)
		}
	}
	return run, nil
}

// portsOfPods returns the ports of the revision that runs, and of all other revisions that have pods, even if they
// were never good: ready pods serve while they are being replaced.
func (in *input) portsOfPods() ([][]v1alpha2.Port, error) {
	all := [][]v1alpha2.Port{podtemplate.Ports(&in.selection.Run.Spec)}
	for i := range in.state.History {
		r := &in.state.History[i]
		if !in.replaced(r) {
			continue
		}
		replaced, err := revisionPorts(r)
		if err != nil {
			return nil, err
		}
		all = append(all, replaced)
	}
	return all, nil
}

// replaced reports whether a revision has pods that the revision that runs replaces.
func (in *input) replaced(r *history.Revision) bool {
	return r.Template != in.selection.Run.Hash && slices.ContainsFunc(in.state.Pods, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp == nil && observe.TemplateOf(&pod) == r.Template
	})
}

func revisionPorts(r *history.Revision) ([]v1alpha2.Port, error) {
	data, err := r.Data()
	return podtemplate.Ports(&data.Spec), err
}

// serviceHas reports whether the Service has exactly these ports, whatever they target.
func (in *input) serviceHas(all []v1alpha2.Port) bool {
	service := in.state.Service(in.app.Name)
	return service != nil && len(service.Spec.Ports) == len(all) && !slices.ContainsFunc(all, func(want v1alpha2.Port) bool {
		return !slices.ContainsFunc(service.Spec.Ports, func(has corev1.ServicePort) bool {
			return has.Name == want.Name && has.Port == want.Port && has.Protocol == want.Protocol
		})
	})
}

// keepsPorts reports whether the Service keeps the ports of pods that are being replaced, until they are gone.
func (in *input) keepsPorts() (bool, error) {
	served, err := in.portsServed()
	return err == nil && !slices.Equal(withoutNodePorts(served), withoutNodePorts(podtemplate.Ports(&in.selection.Run.Spec))), err
}

func withoutNodePorts(ports []v1alpha2.Port) []v1alpha2.Port {
	all := slices.Clone(ports)
	for i := range all {
		all[i].NodePort = nil
	}
	return all
}

// target returns how to find a port in all pods: by its name, which may have different numbers, or by its number if
// its name differs in some pods.
func target(p v1alpha2.Port, all [][]v1alpha2.Port) intstr.IntOrString {
	everywhere := func(same func(v1alpha2.Port) bool) bool {
		return !slices.ContainsFunc(all, func(ports []v1alpha2.Port) bool { return !slices.ContainsFunc(ports, same) })
	}
	number := podtemplate.TargetPort(p)
	sameNumber := func(other v1alpha2.Port) bool {
		return podtemplate.TargetPort(other) == number && other.Protocol == p.Protocol
	}
	if !everywhere(sameName(p)) && everywhere(sameNumber) {
		return intstr.FromInt32(number)
	}
	return intstr.FromString(p.Name)
}

func sameName(p v1alpha2.Port) func(v1alpha2.Port) bool {
	return func(other v1alpha2.Port) bool { return other.Name == p.Name }
}

// recreatesService reports whether a Service becomes headless, or is no longer, or gets another first address family.
func recreatesService(want, live map[string]any, _ []string) bool {
	clusterIP := func(fields map[string]any) string {
		ip, _, _ := unstructured.NestedString(fields, "spec", "clusterIP")
		return ip
	}
	if (clusterIP(want) == corev1.ClusterIPNone) != (clusterIP(live) == corev1.ClusterIPNone) {
		return true
	}
	families, _, _ := unstructured.NestedStringSlice(want, "spec", "ipFamilies")
	before, _, _ := unstructured.NestedStringSlice(live, "spec", "ipFamilies")
	return len(families) > 0 && len(before) > 0 && families[0] != before[0]
}
