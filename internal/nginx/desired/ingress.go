package desired

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// ingress routes requests from outside the cluster to the Service.
func ingress(in *input) (object, error) {
	want := in.app.Spec.Ingress
	if want == nil {
		return object{}, nil
	}
	port, err := in.exposedPort(func(p v1alpha2.Port) bool { return want.Port != nil && p.Name == *want.Port })
	if err != nil {
		return object{}, err
	}
	backend := networkingv1ac.IngressBackend().WithService(networkingv1ac.IngressServiceBackend().
		WithName(naming.Service(in.app.Name)).
		WithPort(networkingv1ac.ServiceBackendPort().WithName(port.Name)))
	spec := networkingv1ac.IngressSpec()
	spec.IngressClassName = want.ClassName
	for _, host := range want.Hosts {
		spec.WithRules(ingressRule(host, backend))
	}
	for _, t := range want.TLS {
		spec.WithTLS(in.ingressTLS(t))
	}
	meta := in.meta(in.app.Name).WithAnnotations(want.Annotations)
	addLabels(meta, want.Labels)
	config := networkingv1ac.Ingress(in.app.Name, in.app.Namespace).WithSpec(spec)
	config.ObjectMetaApplyConfiguration = meta
	return object{config, meta}, nil
}

func ingressRule(host v1alpha2.IngressHost, backend *networkingv1ac.IngressBackendApplyConfiguration) *networkingv1ac.IngressRuleApplyConfiguration {
	http := networkingv1ac.HTTPIngressRuleValue()
	for _, p := range ingressPaths(host) {
		http.WithPaths(networkingv1ac.HTTPIngressPath().WithPath(p.Path).WithPathType(p.PathType).WithBackend(backend))
	}
	rule := networkingv1ac.IngressRule().WithHTTP(http)
	if host.Host != nil {
		rule.WithHost(string(*host.Host))
	}
	return rule
}

// ingressPaths returns the paths of a host; all by default.
func ingressPaths(host v1alpha2.IngressHost) []v1alpha2.IngressPath {
	if len(host.Paths) == 0 {
		return []v1alpha2.IngressPath{{Path: "/", PathType: networkingv1.PathTypePrefix}}
	}
	paths := slices.Clone(host.Paths)
	for i := range paths {
		if paths[i].PathType == "" {
			paths[i].PathType = networkingv1.PathTypePrefix
		}
	}
	return paths
}

func (in *input) ingressTLS(t v1alpha2.IngressTLS) *networkingv1ac.IngressTLSApplyConfiguration {
	config := networkingv1ac.IngressTLS().WithHosts(hostnames(t.Hosts)...)
	config.SecretName = t.SecretName
	if t.TLSName != nil {
		if i := slices.IndexFunc(in.app.Spec.TLS, func(c v1alpha2.Certificate) bool { return c.Name == *t.TLSName }); i >= 0 {
			config.WithSecretName(in.app.Spec.TLS[i].SecretName)
		}
	}
	return config
}

func hostnames(all []v1alpha2.Hostname) []string {
	var names []string
	for _, name := range all {
		names = append(names, string(name))
	}
	return names
}
