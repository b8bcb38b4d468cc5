package importer

import (
	"cmp"
	"crypto/sha256"
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
	// ids are the names of the Ingress objects by their ids.
	ids        map[string]string
	controller *controller
	// ordered is set if the age of all Ingress objects is known.
	ordered bool
	// secrets are Secrets whose files the configuration names.
	secrets map[string]bool
}

// host is a server of the configuration.
type host struct {
	name string
	tls  string
	// settings are those of the Ingress objects with the host, in the order in which ingress-nginx takes them.
	settings  []*settings
	locations []*location
	// root passes on what no location does, if an Ingress has a default backend.
	root *location
	// foreign is the same host in other namespaces.
	foreign []*host
	// foreignTLS is set if one has a certificate for the host, so that ingress-nginx redirects to HTTPS.
	foreignTLS bool
	// closed are reasons why all paths answer 403.
	closed []closure
	// certificateHeaders tell the backends about the certificate of the client.
	certificateHeaders []string
}

// location is a path of an Ingress.
type location struct {
	path     string
	pathType networkingv1.PathType
	upstream string
	// missing says why there is no upstream.
	missing  string
	settings *settings
	// rivals are those of other Ingress objects with the path, if it is not known which one ingress-nginx takes.
	rivals []*settings
	// closed are reasons why the path answers 403, in addition to those of its Ingress.
	closed []closure
}

// importIngresses makes an application of the Ingress objects of each namespace.
func (s *inputs) importIngresses() (*Result, error) {
	result, done := &Result{}, map[*object]bool{}
	objects, err := s.ofClass(&result.Review, done)
	if err != nil {
		return nil, err
	}
	controller := s.readController(&result.Review, done)
	if objects = controller.served(objects, &result.Review, done); len(objects) == 0 {
		return nil, fmt.Errorf("%w: ingress-nginx serves no Ingress whose snippets are riskier than annotations-risk-level of its ConfigMap: set it to Critical, or delete the snippets", ErrNothing)
	}
	imports := s.newIngressImports(objects, &result.Review, controller)
	for _, o := range objects {
		ingress, _ := o.typed.(*networkingv1.Ingress)
		if err := imports[ingress.Namespace].add(o, ingress); err != nil {
			return nil, err
		}
		done[o] = true
	}
	closeAllForeign(imports)
	for _, namespace := range slices.Sorted(maps.Keys(imports)) {
		if err := imports[namespace].finish(result); err != nil {
			return nil, err
		}
	}
	s.reviewServices(&result.Review, done)
	s.reviewOthers(&result.Review, done)
	return result, nil
}

// newIngressImports returns an empty import for each namespace of Ingress objects, and sorts the objects. The first object
// of a namespace names its application.
func (s *inputs) newIngressImports(objects []*object, r *Review, controller *controller) map[string]*ingressImport {
	names := map[string]string{}
	for _, o := range objects {
		ingress, _ := o.typed.(*networkingv1.Ingress)
		names[ingress.Namespace] = cmp.Or(names[ingress.Namespace], applicationName(ingress.Name))
	}
	ordered := inOrder(objects)
	imports := map[string]*ingressImport{}
	for _, namespace := range slices.Sorted(maps.Keys(names)) {
		imports[namespace] = &ingressImport{
			inputs: s, review: r, namespace: namespace, controller: controller, ordered: ordered,
			app:   newApplication(cmp.Or(s.options.Name, names[namespace], "ingress"), cmp.Or(s.options.Namespace, namespace)),
			hosts: map[string]*host{}, upstreams: map[string]string{}, secrets: map[string]bool{}, ids: map[string]string{},
		}
	}
	return imports
}

// closeAllForeign closes in the import of each namespace what Ingress objects of the other ones have.
func closeAllForeign(imports map[string]*ingressImport) {
	for _, namespace := range slices.Sorted(maps.Keys(imports)) {
		for _, other := range slices.Sorted(maps.Keys(imports)) {
			if other != namespace {
				imports[namespace].closeForeign(imports[other])
			}
		}
	}
}

// reviewServices reviews the Services to which the configuration passes requests.
func (s *inputs) reviewServices(r *Review, done map[*object]bool) {
	for _, o := range s.objects {
		if service, ok := o.typed.(*corev1.Service); ok && !done[o] {
			o.take("metadata", Carried, "the configuration passes requests to it: keep the object")
			o.take("spec", Carried, "the configuration passes requests to it: keep the object")
			done[o] = true
			o.review(r, "keep the Service "+service.Name)
		}
	}
}

// inOrder sorts Ingress objects as ingress-nginx does, for which the oldest wins. It returns false if their age is not known.
func inOrder(objects []*object) bool {
	age := func(o *object) *networkingv1.Ingress {
		ingress, _ := o.typed.(*networkingv1.Ingress)
		return ingress
	}
	if slices.ContainsFunc(objects, func(o *object) bool { return age(o).CreationTimestamp.IsZero() }) {
		return false
	}
	slices.SortStableFunc(objects, func(a, b *object) int {
		first, second := age(a), age(b)
		return cmp.Or(first.CreationTimestamp.Compare(second.CreationTimestamp.Time), cmp.Compare(second.Namespace+"/"+second.Name, first.Namespace+"/"+first.Name))
	})
	return true
}

// add adds an Ingress.
func (x *ingressImport) add(o *object, ingress *networkingv1.Ingress) error {
	o.take("metadata.name", Changed, "the application is called "+x.app.Name)
	o.take("metadata.namespace", Carried, "")
	o.take("metadata.labels", NotCarried, "one application replaces all Ingress objects: set metadata.labels of the NginxOperator if you need them")
	o.take("spec.ingressClassName", NotCarried, "the application serves the requests itself, without an Ingress controller")
	defer o.review(x.review, "an NginxOperator has no such field")
	settings, err := readAnnotations(x, o, ingress)
	if err != nil {
		return err
	}
	if settings.canary {
		o.take("spec", NotCarried, "the Ingress is a canary of another one: use rollout.canary, or split_clients in the configuration")
		for _, rule := range ingress.Spec.Rules {
			if len(settings.clientCertificate) > 0 || len(settings.closedHosts) > 0 {
				x.host(rule.Host).settings = append(x.host(rule.Host).settings, settings)
			}
		}
		return nil
	}
	if ingress.Spec.DefaultBackend != nil {
		x.addDefaultBackend(o, ingress, settings)
	}
	for i, rule := range ingress.Spec.Rules {
		x.addRule(o, fmt.Sprintf("spec.rules[%d]", i), rule, settings)
	}
	x.addTLS(o, ingress)
	return nil
}

// addDefaultBackend adds the backend of what no path matches: of all other hosts, or of those of the Ingress if it has rules.
func (x *ingressImport) addDefaultBackend(o *object, ingress *networkingv1.Ingress, own *settings) {
	o.take("spec.defaultBackend", Carried, "")
	l := &location{path: "/", pathType: networkingv1.PathTypePrefix, settings: own}
	x.setBackend(l, *ingress.Spec.DefaultBackend)
	if len(ingress.Spec.Rules) == 0 {
		// What ingress-nginx sets for a whole server, it sets for hosts of rules only.
		l.closed = append(l.closed, own.closedHosts...)
		if len(own.clientCertificate) > 0 {
			l.closed = append(l.closed, x.close(own, "auth-tls-secret", "the Ingress has no rules, so that ingress-nginx asks no client for a certificate"))
		}
		x.addRoot(x.host(""), l)
		return
	}
	for _, rule := range ingress.Spec.Rules {
		if h := x.host(rule.Host); rule.Host != "" && !slices.ContainsFunc(h.settings, func(other *settings) bool { return !other.canary }) {
			x.addRoot(h, l)
		}
	}
}

// addRoot sets what passes on the requests that no path matches, unless another Ingress has set it.
func (x *ingressImport) addRoot(h *host, l *location) {
	switch {
	case h.root == nil:
		h.root = l
	case !x.ordered && h.root.settings.protection() != l.settings.protection():
		h.root.closed = append(h.root.closed, x.ambiguous(h, h.root.settings, l.settings, "the default backend"))
	}
}

func (x *ingressImport) addRule(o *object, path string, rule networkingv1.IngressRule, settings *settings) {
	if rule.Host != "" && !hostname.MatchString(rule.Host) {
		o.take(path, NotCarried, "the host is no DNS name")
		return
	}
	o.take(path+".host", Carried, "")
	h := x.host(rule.Host)
	if !slices.Contains(h.settings, settings) {
		h.settings = append(h.settings, settings)
	}
	if rule.HTTP == nil {
		return
	}
	for i, p := range rule.HTTP.Paths {
		at := fmt.Sprintf("%s.http.paths[%d]", path, i)
		l := &location{path: cmp.Or(p.Path, "/"), pathType: networkingv1.PathTypePrefix, settings: settings}
		if p.PathType != nil && *p.PathType == networkingv1.PathTypeExact {
			l.pathType = *p.PathType
		}
		x.setBackend(l, p.Backend)
		o.take(at, Carried, "")
		if l.missing != "" {
			o.take(at+".backend", NotCarried, l.missing)
			x.review.step("Give the path %s of %s a backend: %s.", l.path, cmp.Or(rule.Host, "all hosts"), l.missing)
		}
		if !validPath(l.path) {
			o.take(at+".path", NotCarried, "it has a control character, so the host answers 403")
			h.closed = append(h.closed, closure{settings.name, at + ".path"})
			continue
		}
		x.addLocation(h, l)
	}
}

func (x *ingressImport) host(name string) *host {
	if x.hosts[name] == nil {
		x.hosts[name] = &host{name: name}
	}
	return x.hosts[name]
}

// addLocation adds a path, of which the first Ingress wins. If it is not known which one is the first, and they protect the
// path differently, it is closed.
func (x *ingressImport) addLocation(h *host, l *location) {
	at := slices.IndexFunc(h.locations, func(other *location) bool { return other.path == l.path && other.pathType == l.pathType })
	if at < 0 {
		h.locations = append(h.locations, l)
		return
	}
	first := h.locations[at]
	if first.settings == l.settings {
		return
	}
	if !x.ordered {
		first.rivals = append(first.rivals, l.settings)
	}
	if x.ordered || first.settings.protection() == l.settings.protection() {
		x.review.step("Check the path %s of %s: the Ingress objects %s and %s both have it, and the first one is used.", l.path, cmp.Or(h.name, "all hosts"), first.settings.name, l.settings.name)
		return
	}
	first.closed = append(first.closed, x.ambiguous(h, first.settings, l.settings, "the path "+l.path))
}

// ambiguous makes a step of a setting that two Ingress objects have, when it is not known which one ingress-nginx takes.
func (x *ingressImport) ambiguous(h *host, first, second *settings, what string) closure {
	c := closure{first.name, "another one in " + second.name}
	x.review.step("Decide about %s of %s, which answers 403 until then: the Ingress objects %s and %s both set it, and ingress-nginx takes the older one, which the input does not tell (pass the output of kubectl get -o yaml). "+
		"Then delete the line %q of %s.", what, cmp.Or(h.name, "all hosts"), first.name, second.name, c.line(), ingressFile)
	return c
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
		name := x.certificateName(t.SecretName)
		if known := func(c v1alpha2.Certificate) bool { return c.Name == name }; !slices.ContainsFunc(x.app.Spec.TLS, known) {
			x.app.Spec.TLS = append(x.app.Spec.TLS, v1alpha2.Certificate{Name: name, SecretName: t.SecretName, Certificate: issued(o, ingress, t.Hosts)})
		}
		for _, rule := range ingress.Spec.Rules {
			if h := x.hosts[rule.Host]; h != nil && covers(t.Hosts, rule.Host) {
				h.tls = cmp.Or(h.tls, name)
			}
		}
	}
}

// certificateName returns a name for the entry of spec.tls of a Secret, which no other Secret has.
func (x *ingressImport) certificateName(secret string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(x.app.Spec.TLS, func(c v1alpha2.Certificate) bool { return c.Name == name && c.SecretName != secret })
	}
	name := certificateName(secret + ".crt")
	for i := 2; taken(name); i++ {
		name = fmt.Sprintf("%s-%d", strings.TrimRight(name[:min(len(name), 36)], "-"), i)
	}
	return name
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

// uniqueID returns an id for an Ingress that its files and variables begin with. A name that is changed to make it one has a
// hash, so that different names have different ids.
func (x *ingressImport) uniqueID(ingress *networkingv1.Ingress) (string, error) {
	id := applicationName(ingress.Name)
	if id != ingress.Name || id+".include" == headersFile {
		sum := sha256.Sum256([]byte(ingress.Name))
		id = strings.TrimLeft(fmt.Sprintf("%s-%x", id[:min(len(id), 36)], sum[:6]), "-")
		if id[0] <= '9' {
			id = "ingress-" + id
		}
	}
	if other, taken := x.ids[id]; taken {
		if other == ingress.Name {
			return "", fmt.Errorf("the input has two Ingress objects with the name %q: remove one of them", ingress.Name)
		}
		return "", fmt.Errorf("the Ingress objects %q and %q would have the same files: rename one of them", other, ingress.Name)
	}
	x.ids[id] = ingress.Name
	return id, nil
}

// applicationName returns a name that an NginxOperator can have, derived from another one.
func applicationName(name string) string {
	name = strings.Trim(notLabel.ReplaceAllString(strings.ToLower(name), "-"), "-")
	name = strings.TrimLeft(name, "0123456789-")
	return strings.TrimRight(name[:min(len(name), 45)], "-")
}
