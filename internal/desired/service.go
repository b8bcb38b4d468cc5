package desired

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// service gives the application a stable address.
func service(in *input) (object, error) {
	svc, err := decode[corev1ac.ServiceApplyConfiguration]("service.yaml")
	if err != nil {
		return object{}, err
	}
	svc.ObjectMetaApplyConfiguration = in.meta(naming.Service(in.nginx.Name))
	svc.Spec.WithSelector(naming.SelectorLabels(in.nginx.Name))
	all, err := in.servicePorts()
	if err != nil {
		return object{}, err
	}
	svc.Spec.WithPorts(all...)
	if want := in.nginx.Spec.Service; want != nil {
		svc.WithAnnotations(want.Annotations)
		svc.Spec.WithType(want.Type)
		svc.Spec.ExternalTrafficPolicy = want.ExternalTrafficPolicy
		svc.Spec.LoadBalancerClass = want.LoadBalancerClass
		svc.Spec.LoadBalancerSourceRanges = want.LoadBalancerSourceRanges
		svc.Spec.SessionAffinity = want.SessionAffinity
		svc.Spec.TrafficDistribution = want.TrafficDistribution
	}
	return object{svc, svc.ObjectMetaApplyConfiguration}, nil
}

// servicePorts are those of the pods that a rollout replaces, until it is through: what is new there serves as well, as
// far as it has the port, and what it has instead comes when all pods have it. Node ports are the Service's own, so they
// are the spec's.
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
		if i := slices.IndexFunc(in.nginx.Spec.Ports, sameName(p)); i >= 0 {
			port.NodePort = in.nginx.Spec.Ports[i].NodePort
		}
		all = append(all, port)
	}
	return all, nil
}

// portsServed are the ports of pods that are replaced, or else of the revision that runs.
//
// The Service never goes back from the ports of what all pods have been of last: who sees pods of something else then has an
// old view of them.
func (in *input) portsServed() ([]v1alpha2.Port, error) {
	run := ports(&in.course.run.spec)
	if last := in.state.History.LastGood(""); last != nil && last.Template == in.course.run.hash && in.serviceHas(run) {
		return run, nil
	}
	for i := range slices.Backward(in.state.History) {
		r := &in.state.History[i]
		if in.replaced(r) && in.state.History.HasBeenGood(r.Template) {
			return in.recordedPorts(r)
		}
	}
	return run, nil
}

// portsOfPods are the ports of the revision that runs, and of all others that there are pods of, also such as have never
// been good: those that are ready serve while they are replaced.
func (in *input) portsOfPods() ([][]v1alpha2.Port, error) {
	all := [][]v1alpha2.Port{ports(&in.course.run.spec)}
	for i := range in.state.History {
		r := &in.state.History[i]
		if !in.replaced(r) {
			continue
		}
		replaced, err := in.recordedPorts(r)
		if err != nil {
			return nil, err
		}
		all = append(all, replaced)
	}
	return all, nil
}

// replaced tells whether there are pods of a revision that have to give way to those of the one that runs.
func (in *input) replaced(r *history.Revision) bool {
	return r.Template != in.course.run.hash && slices.ContainsFunc(in.state.Pods, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp == nil && observe.TemplateOf(&pod) == r.Template
	})
}

func (in *input) recordedPorts(r *history.Revision) ([]v1alpha2.Port, error) {
	recorded, err := in.recorded(r)
	return ports(&recorded.spec), err
}

// serviceHas tells whether the Service has these ports, and no others, wherever they lead.
func (in *input) serviceHas(all []v1alpha2.Port) bool {
	service := in.state.Service()
	return service != nil && len(service.Spec.Ports) == len(all) && !slices.ContainsFunc(all, func(want v1alpha2.Port) bool {
		return !slices.ContainsFunc(service.Spec.Ports, func(has corev1.ServicePort) bool {
			return has.Name == want.Name && has.Port == want.Port && has.Protocol == want.Protocol
		})
	})
}

// keepsPorts tells whether the Service still has the ports of pods that are being replaced.
func (in *input) keepsPorts() (bool, error) {
	served, err := in.portsServed()
	return err == nil && !slices.Equal(withoutNodePorts(served), withoutNodePorts(ports(&in.course.run.spec))), err
}

func withoutNodePorts(ports []v1alpha2.Port) []v1alpha2.Port {
	all := slices.Clone(ports)
	for i := range all {
		all[i].NodePort = nil
	}
	return all
}

// target finds a port in all pods: by its name, under which it may have another number in some of them, or else, where it
// is called otherwise in some, by its number.
func target(p v1alpha2.Port, all [][]v1alpha2.Port) intstr.IntOrString {
	everywhere := func(same func(v1alpha2.Port) bool) bool {
		return !slices.ContainsFunc(all, func(ports []v1alpha2.Port) bool { return !slices.ContainsFunc(ports, same) })
	}
	if !everywhere(sameName(p)) && everywhere(func(other v1alpha2.Port) bool { return other.Port == p.Port && other.Protocol == p.Protocol }) {
		return intstr.FromInt32(p.Port)
	}
	return intstr.FromString(p.Name)
}

func sameName(p v1alpha2.Port) func(v1alpha2.Port) bool {
	return func(other v1alpha2.Port) bool { return other.Name == p.Name }
}
