package importer

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// ingressImport makes one application of the Ingress objects of a namespace.
type ingressImport struct {
	inputs *inputs
	review *Review
	// namespace is that of the objects; "" if they have none.
	namespace string
	app       *v1alpha2.NginxOperator
	hosts     map[string]*host
	upstreams map[string]string
	// http and stream are lines of these contexts.
	http, stream []string
	settings     []*settings
	// secrets are Secrets whose files the configuration names.
	secrets map[string]bool
}

// host is a server of the configuration.
type host struct {
	name    string
	aliases []string
	tls     string
	// lines are those of the server, in their order.
	lines     []string
	locations []*location
	regex     bool
}

// location is a path of an Ingress.
type location struct {
	path     string
	pathType networkingv1.PathType
	upstream string
	// missing says why there is no upstream.
	missing  string
	settings *settings
}

func (s *inputs) importIngresses() (*Result, error) {
	result := &Result{}
	byNamespace := map[string][]*object{}
	objects, ingresses := ofType[*networkingv1.Ingress](s)
	for i, ingress := range ingresses {
		byNamespace[ingress.Namespace] = append(byNamespace[ingress.Namespace], objects[i])
	}
	done := map[*object]bool{}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		first, _ := byNamespace[namespace][0].typed.(*networkingv1.Ingress)
		name := cmp.Or(s.options.Name, applicationName(first.Name), "ingress")
		x := &ingressImport{
			inputs: s, review: &result.Review, namespace: namespace, app: newApplication(name, cmp.Or(s.options.Namespace, namespace)),
			hosts: map[string]*host{}, upstreams: map[string]string{}, secrets: map[string]bool{},
		}
		for _, o := range byNamespace[namespace] {
			ingress, _ := o.typed.(*networkingv1.Ingress)
			x.add(o, ingress)
			done[o] = true
		}
		x.finish(result)
	}
	for _, o := range s.objects {
		if service, ok := o.typed.(*corev1.Service); ok && !done[o] {
			o.take("metadata", Carried, "the configuration passes requests to it: keep the object")
			o.take("spec", Carried, "the configuration passes requests to it: keep the object")
			done[o] = true
			o.review(&result.Review, "keep the Service "+service.Name)
		}
	}
	s.reviewOthers(&result.Review, done)
	return result, nil
}

// add adds an Ingress.
func (x *ingressImport) add(o *object, ingress *networkingv1.Ingress) {
	o.take("metadata.name", Changed, "the application is called "+x.app.Name)
	o.take("metadata.namespace", Carried, "")
	o.take("metadata.labels", NotCarried, "one application replaces all Ingress objects: set metadata.labels of the NginxOperator if you need them")
	o.take("spec.ingressClassName", NotCarried, "the application serves the requests itself, without an Ingress controller")
	defer o.review(x.review, "an NginxOperator has no such field")
	settings, use := readAnnotations(x, o, ingress)
	if !use {
		o.take("spec", NotCarried, "the Ingress is a canary of another one: use rollout.canary, or split_clients in the configuration")
		return
	}
	x.addTLS(o, ingress)
	if ingress.Spec.DefaultBackend != nil {
		o.take("spec.defaultBackend", Carried, "")
		l := &location{path: "/", pathType: networkingv1.PathTypePrefix, settings: settings}
		x.setBackend(l, *ingress.Spec.DefaultBackend)
		x.addLocation("", l)
	}
	for i, rule := range ingress.Spec.Rules {
		x.addRule(o, fmt.Sprintf("spec.rules[%d]", i), rule, settings)
	}
}

func (x *ingressImport) addRule(o *object, path string, rule networkingv1.IngressRule, settings *settings) {
	if rule.Host != "" && !hostname.MatchString(rule.Host) {
		o.take(path, NotCarried, "the host is no DNS name")
		return
	}
	o.take(path+".host", Carried, "")
	h := x.host(rule.Host)
	h.lines = append(h.lines, settings.server...)
	h.aliases = append(h.aliases, settings.aliases...)
	h.regex = h.regex || settings.regex()
	if rule.HTTP == nil {
		return
	}
	for i, p := range rule.HTTP.Paths {
		at := fmt.Sprintf("%s.http.paths[%d]", path, i)
		l := &location{path: cmp.Or(p.Path, "/"), pathType: networkingv1.PathTypeImplementationSpecific, settings: settings}
		if p.PathType != nil {
			l.pathType = *p.PathType
		}
		x.setBackend(l, p.Backend)
		o.take(at, Carried, "")
		if l.missing != "" {
			o.take(at+".backend", NotCarried, l.missing)
			x.review.step("Give the path %s of %s a backend: %s.", l.path, cmp.Or(rule.Host, "all hosts"), l.missing)
		}
		if !validPath(l.path) {
			o.take(at+".path", NotCarried, "it has a control character")
			continue
		}
		x.addLocation(rule.Host, l)
	}
}

func (x *ingressImport) host(name string) *host {
	if x.hosts[name] == nil {
		x.hosts[name] = &host{name: name}
	}
	return x.hosts[name]
}

// addLocation adds a path, of which the first Ingress wins.
func (x *ingressImport) addLocation(name string, l *location) {
	h := x.host(name)
	h.regex = h.regex || l.settings.regex()
	same := func(other *location) bool { return other.path == l.path && other.pathType == l.pathType }
	if !slices.ContainsFunc(h.locations, same) {
		h.locations = append(h.locations, l)
	}
}

// setBackend gives a location its upstream.
func (x *ingressImport) setBackend(l *location, b networkingv1.IngressBackend) {
	if b.Service == nil {
		l.missing = "a resource backend is not a Service: nginx answers 503"
		return
	}
	if !hostname.MatchString(b.Service.Name) || x.namespace != "" && !hostname.MatchString(x.namespace) {
		l.missing = "the name of the Service or of the namespace is no DNS name"
		return
	}
	port := b.Service.Port.Number
	if port == 0 {
		port = x.portNumber(b.Service.Name, b.Service.Port.Name)
	}
	if port == 0 {
		l.missing = fmt.Sprintf("the number of port %s of the Service %s is unknown: pass the Service, too, and import again", b.Service.Port.Name, b.Service.Name)
		return
	}
	server := fmt.Sprintf("%s.%s.svc.cluster.local:%d", b.Service.Name, cmp.Or(x.namespace, x.app.Namespace, "default"), port)
	if service := x.inputs.service(x.namespace, b.Service.Name); service != nil && service.Spec.Type == corev1.ServiceTypeExternalName && hostname.MatchString(service.Spec.ExternalName) {
		server = fmt.Sprintf("%s:%d", service.Spec.ExternalName, port)
	}
	l.upstream = fmt.Sprintf("%s-%d", b.Service.Name, port)
	x.upstreams[l.upstream] = server
}

// portNumber returns the number of a named port of a Service of the input, or 0.
func (x *ingressImport) portNumber(service, port string) int32 {
	found := x.inputs.service(x.namespace, service)
	if found == nil {
		return 0
	}
	for _, p := range found.Spec.Ports {
		if p.Name == port {
			return p.Port
		}
	}
	return 0
}

// addTLS adds the certificates of an Ingress.
func (x *ingressImport) addTLS(o *object, ingress *networkingv1.Ingress) {
	for i, t := range ingress.Spec.TLS {
		path := fmt.Sprintf("spec.tls[%d]", i)
		if t.SecretName == "" {
			o.take(path, NotCarried, "it has no secretName, and an application has no default certificate: set one")
			x.review.step("Give the hosts %s a certificate: %s of the %s has no secretName.", strings.Join(t.Hosts, ", "), path, o.name)
			continue
		}
		if !hostname.MatchString(t.SecretName) {
			o.take(path, NotCarried, "secretName is no name of a Secret")
			continue
		}
		o.take(path, Carried, "")
		name := certificateName(t.SecretName + ".crt")
		known := func(c v1alpha2.Certificate) bool { return c.SecretName == t.SecretName }
		if at := slices.IndexFunc(x.app.Spec.TLS, known); at >= 0 {
			name = x.app.Spec.TLS[at].Name
		} else {
			x.app.Spec.TLS = append(x.app.Spec.TLS, v1alpha2.Certificate{Name: name, SecretName: t.SecretName, Certificate: issued(o, ingress, t.Hosts)})
		}
		for _, rule := range ingress.Spec.Rules {
			if covers(t.Hosts, rule.Host) {
				x.host(rule.Host).tls = name
			}
		}
	}
}

// covers reports whether the hosts of a certificate include one; none means all.
func covers(hosts []string, name string) bool {
	_, domain, _ := strings.Cut(name, ".")
	return len(hosts) == 0 || slices.Contains(hosts, name) || slices.Contains(hosts, "*."+domain)
}

// hostname matches names that are one word for nginx, too.
var hostname = regexp.MustCompile(`^(\*\.)?[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?$`)

// validPath reports whether nginx reads a path as one word in quotes.
func validPath(path string) bool {
	return !strings.ContainsAny(path, "\n\r\t\x00") && strings.ToValidUTF8(path, "") == path
}

// applicationName returns a name that an NginxOperator can have, derived from another one.
func applicationName(name string) string {
	name = strings.Trim(notLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
	name = strings.TrimLeft(name, "0123456789-")
	return strings.TrimRight(name[:min(len(name), 45)], "-")
}
