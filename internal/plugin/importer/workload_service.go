package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
)

// service copies the first Service that selects the pods, and returns its name. listens are the ports of the configuration.
func (w *workload) service(done map[*object]bool, listens []v1alpha2.Port) (name string) {
	w.app.Spec.Ports = listens
	c := w.pod.Containers[w.nginx]
	for i, p := range c.Ports {
		at := fmt.Sprintf("%s.containers[%d].ports[%d]", w.podPath, w.nginx, i)
		w.take(at, Carried, "")
		if p.HostPort != 0 {
			w.take(at+".hostPort", NotCarried, restricted)
		}
	}
	objects, services := ofType[*corev1.Service](w.inputs)
	for i, s := range services {
		selects := len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(w.podLabels())
		if !selects || s.Namespace != w.meta.Namespace || done[objects[i]] {
			continue
		}
		done[objects[i]] = true
		if name != "" {
			objects[i].take("metadata", NotCarried, "an application has one Service: keep this one, with the selector app.kubernetes.io/instance: "+w.app.Name)
			objects[i].take("spec", NotCarried, "an application has one Service: keep this one, with the selector app.kubernetes.io/instance: "+w.app.Name)
			objects[i].review(w.review, "")
			continue
		}
		name = s.Name
		w.copyService(objects[i], s, c)
	}
	if name == "" && len(listens) == 0 {
		w.portsOfContainer(c)
	}
	return name
}

// portsOfContainer declares the ports of the container, if neither a configuration nor a Service is known.
func (w *workload) portsOfContainer(c corev1.Container) {
	for i, p := range c.Ports {
		name := p.Name
		if name == "" {
			name = fmt.Sprintf("port-%d", p.ContainerPort)
		}
		port := v1alpha2.Port{Name: name, Port: p.ContainerPort, Protocol: protocolOf(p.Protocol)}
		if why := w.cannotAdd(port); why != "" {
			w.take(fmt.Sprintf("%s.containers[%d].ports[%d]", w.podPath, w.nginx, i), NotCarried, why)
			continue
		}
		w.app.Spec.Ports = append(w.app.Spec.Ports, port)
	}
}

// protocolOf returns a protocol as the API has it.
func protocolOf(p corev1.Protocol) corev1.Protocol {
	if p == "" {
		return corev1.ProtocolTCP
	}
	return corev1.Protocol(strings.ToUpper(string(p)))
}

// cannotAdd returns why spec.ports cannot have one more port, or "".
func (w *workload) cannotAdd(port v1alpha2.Port) string {
	listens := func(p v1alpha2.Port) int32 { return ptr.Deref(p.TargetPort, p.Port) }
	switch {
	case port.Protocol != corev1.ProtocolTCP && port.Protocol != corev1.ProtocolUDP:
		return "a port of an application has the protocol TCP or UDP"
	case port.Name == "metrics" || port.Protocol == corev1.ProtocolTCP && (port.Port == metricsPort || listens(port) == metricsPort):
		return "the name metrics and port 9113 belong to the instance manager, which serves metrics there"
	case slices.ContainsFunc(w.app.Spec.Ports, func(p v1alpha2.Port) bool { return p.Name == port.Name }):
		return "another port has the name " + port.Name
	case slices.ContainsFunc(w.app.Spec.Ports, func(p v1alpha2.Port) bool { return p.Protocol == port.Protocol && listens(p) == listens(port) }):
		return "spec.ports has each port of nginx once: let nginx listen on another one, too"
	}
	return ""
}

// serviceFields are the fields of a Service that spec.service has, too.
var serviceFields = []string{"type", "externalTrafficPolicy", "loadBalancerClass", "loadBalancerSourceRanges", "sessionAffinity", "ipFamilyPolicy", "ipFamilies",
	"internalTrafficPolicy", "allocateLoadBalancerNodePorts", "trafficDistribution"}

func (w *workload) copyService(o *object, s *corev1.Service, c corev1.Container) {
	into := &v1alpha2.Service{}
	own := &workload{object: o, app: w.app}
	o.take("metadata.namespace", Carried, "")
	o.take("metadata.name", Carried, "")
	if s.Name != w.app.Name {
		o.take("metadata.name", Changed, "the Service has the name of the application: "+w.app.Name)
		w.review.step("The Service of %s has this name: let clients use it in place of %s, or pass --name %s.", w.app.Name, s.Name, s.Name)
	} else {
		w.review.step("Delete the Service %s when the application is to replace it: the operator does not take over an object of others.", s.Name)
	}
	into.Labels, into.Annotations = own.keepOwn("metadata.labels", s.Labels), own.keepOwn("metadata.annotations", s.Annotations)
	o.take("spec.selector", NotCarried, "the operator sets it")
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		o.take("spec", NotCarried, "a Service of type ExternalName has no pods")
		return
	}
	own.copyAll("spec", fields(s.Spec), into, serviceFields...)
	if s.Spec.ClusterIP == corev1.ClusterIPNone {
		headless := true
		into.Headless = &headless
		o.take("spec.clusterIP", Carried, "")
		o.take("spec.clusterIPs", Carried, "")
	}
	if affinity := s.Spec.SessionAffinityConfig; affinity != nil && affinity.ClientIP != nil {
		into.SessionAffinityTimeoutSeconds = affinity.ClientIP.TimeoutSeconds
		o.take("spec.sessionAffinityConfig", Carried, "")
	}
	w.servicePorts(o, s, c)
	if !isEmpty(into) {
		w.app.Spec.Service = into
	}
	o.review(w.review, "spec.service has no such field")
}

// servicePorts declares the ports of the Service, and on which ones nginx listens.
func (w *workload) servicePorts(o *object, s *corev1.Service, c corev1.Container) {
	listens := w.app.Spec.Ports
	w.app.Spec.Ports = nil
	for i, p := range s.Spec.Ports {
		at := fmt.Sprintf("spec.ports[%d]", i)
		port := servicePort(p, c)
		served := slices.ContainsFunc(listens, func(l v1alpha2.Port) bool {
			return l.Port == ptr.Deref(port.TargetPort, port.Port) && l.Protocol == port.Protocol
		})
		if ptr.Deref(port.TargetPort, port.Port) == 0 || len(listens) > 0 && !served {
			o.take(at, NotCarried, "no server of nginx listens on its targetPort")
			continue
		}
		if why := w.cannotAdd(port); why != "" {
			o.take(at, NotCarried, why)
			continue
		}
		if p.NodePort != 0 && s.Spec.Type != corev1.ServiceTypeClusterIP {
			port.NodePort = &p.NodePort
			w.review.step("Node port %d can be used by one Service at a time: delete the Service %s first, or remove spec.ports[].nodePort.", p.NodePort, s.Name)
		}
		w.app.Spec.Ports = append(w.app.Spec.Ports, port)
		o.take(at, Carried, "")
		if p.AppProtocol != nil {
			o.take(at+".appProtocol", NotCarried, "a port of an application has no such field")
		}
	}
}

// servicePort returns the port of an application for one of a Service. Its target is 0 if that is unknown.
func servicePort(p corev1.ServicePort, c corev1.Container) v1alpha2.Port {
	port := v1alpha2.Port{Name: cmp.Or(p.Name, "http"), Port: p.Port, Protocol: protocolOf(p.Protocol)}
	if p.TargetPort.String() != "0" {
		if target := containerPort(c, p.TargetPort); target != p.Port {
			port.TargetPort = &target
		}
	}
	return port
}

// budget copies a PodDisruptionBudget of the pods, and names an autoscaler of them.
func (w *workload) budget(done map[*object]bool) {
	objects, budgets := ofType[*policyv1.PodDisruptionBudget](w.inputs)
	for i, b := range budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || selector.Empty() || !selector.Matches(labels.Set(w.podMeta.Labels)) || done[objects[i]] {
			continue
		}
		done[objects[i]] = true
		w.app.Spec.Disruption = &v1alpha2.Disruption{MinAvailable: b.Spec.MinAvailable, MaxUnavailable: b.Spec.MaxUnavailable}
		objects[i].take("metadata", NotCarried, "the operator creates the object")
		objects[i].take("spec.selector", NotCarried, "the operator sets it")
		objects[i].take("spec.minAvailable", Carried, "")
		objects[i].take("spec.maxUnavailable", Carried, "")
		objects[i].review(w.review, "spec.disruption has no such field")
	}
	scalers, autoscalers := ofType[*autoscalingv2.HorizontalPodAutoscaler](w.inputs)
	for i, a := range autoscalers {
		if a.Spec.ScaleTargetRef.Name != w.meta.Name || done[scalers[i]] {
			continue
		}
		done[scalers[i]] = true
		note := "keep the object, and let scaleTargetRef name the application: apiVersion operator.example.com/v1alpha2, kind NginxOperator, name " + w.app.Name
		scalers[i].take("metadata", NotCarried, note)
		scalers[i].take("spec", NotCarried, note)
		scalers[i].review(w.review, note)
	}
}
