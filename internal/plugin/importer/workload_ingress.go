package importer

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// exposure makes spec.ingress of the Ingress that routes to the Service of a workload.
func (w *workload) exposure(done map[*object]bool, service string) {
	objects, ingresses := ofType[*networkingv1.Ingress](w.inputs)
	for i, ingress := range ingresses {
		o := objects[i]
		if service == "" || done[o] || !routesTo(ingress, service) {
			continue
		}
		done[o] = true
		if w.app.Spec.Ingress != nil {
			note := "an application has one Ingress: keep this one, with the Service " + w.app.Name
			o.take("metadata", NotCarried, note)
			o.take("spec", NotCarried, note)
			o.review(w.review, note)
			continue
		}
		w.copyIngress(o, ingress)
	}
}

// routesTo reports whether an Ingress has backends, and all of them are one Service.
func routesTo(ingress *networkingv1.Ingress, service string) bool {
	if ingress.Spec.DefaultBackend != nil {
		return false
	}
	found := false
	for _, rule := range ingress.Spec.Rules {
		if rule.HTTP == nil {
			return false
		}
		for _, p := range rule.HTTP.Paths {
			if p.Backend.Service == nil || p.Backend.Service.Name != service {
				return false
			}
			found = true
		}
	}
	return found
}

func (w *workload) copyIngress(o *object, ingress *networkingv1.Ingress) {
	own := &workload{object: o, app: w.app}
	into := &v1alpha2.Ingress{ClassName: ingress.Spec.IngressClassName}
	into.Labels, into.Annotations = own.keepOwn("metadata.labels", ingress.Labels), own.keepOwn("metadata.annotations", ingress.Annotations)
	o.take("metadata.name", Changed, "the Ingress has the name of the application: "+w.app.Name)
	if ingress.Name == w.app.Name {
		o.take("metadata.name", Carried, "")
		w.review.step("Delete the Ingress %s when the application is to replace it: the operator does not take over an object of others.", ingress.Name)
	}
	o.take("metadata.namespace", Carried, "")
	o.take("spec.ingressClassName", Carried, "")
	for i, rule := range ingress.Spec.Rules {
		host := v1alpha2.IngressHost{}
		if rule.Host != "" {
			name := v1alpha2.Hostname(rule.Host)
			host.Host = &name
		}
		for _, p := range rule.HTTP.Paths {
			path := v1alpha2.IngressPath{Path: p.Path, PathType: networkingv1.PathTypeImplementationSpecific}
			if p.PathType != nil {
				path.PathType = *p.PathType
			}
			host.Paths = append(host.Paths, path)
		}
		into.Hosts = append(into.Hosts, host)
		o.take(fmt.Sprintf("spec.rules[%d]", i), Carried, "")
	}
	for i, t := range ingress.Spec.TLS {
		at := fmt.Sprintf("spec.tls[%d]", i)
		if t.SecretName == "" {
			o.take(at, NotCarried, "spec.ingress.tls needs a secretName")
			continue
		}
		entry := v1alpha2.IngressTLS{SecretName: &t.SecretName}
		for _, h := range t.Hosts {
			entry.Hosts = append(entry.Hosts, v1alpha2.Hostname(h))
		}
		into.TLS = append(into.TLS, entry)
		o.take(at, Carried, "")
	}
	w.app.Spec.Ingress = into
	o.review(w.review, "spec.ingress has no such field")
}
