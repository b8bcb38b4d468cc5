package importer

import (
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// settings are what the annotations of an Ingress say.
type settings struct {
	// access are lines that refuse or admit addresses, and location are other lines of the locations. snippet comes last.
	access, location []string
	snippet          string
	// tls are lines of the server block, and internal are locations that those of the Ingress use.
	tls, internal []string
	serverSnippet string
	// clientCertificate are lines that require certificates of clients, and certificateHeaders are sent to the backends of
	// all paths of the server.
	clientCertificate, certificateHeaders []string
	aliases                               []string
	rewriteTarget                         string
	useRegex                              bool
	// redirect answers each request, and appRoot those for /.
	redirect, appRoot string
	sslRedirect       bool
	forceSSLRedirect  bool
	protocol          string
	host, prefix      string
	connection        string
	proxyHeaders      []string
	accessLogOff      bool
	canary            bool
	// closed and closedHosts are protecting settings that are not carried over, for which the paths of the Ingress or all
	// paths of its hosts answer 403.
	closed, closedHosts []closure
	// name is that of the Ingress, id is a part of the names of variables, and file has the lines of the locations.
	name, id, file string
	// unknownAuthSnippet is set if it is not known whether the controller applies the snippet of the authentication.
	unknownAuthSnippet bool
	// values are annotations that are used together, by their names.
	values map[string]string
}

// needsRewrite reports whether the request of a path is rewritten.
func (s *settings) needsRewrite(path string) bool {
	return s.rewriteTarget != "" && s.rewriteTarget != path
}

// makesRegex reports whether a path with these settings makes all paths of its server regular expressions.
func (s *settings) makesRegex(path string) bool { return s.useRegex || s.needsRewrite(path) }

// protection returns a text that is the same for Ingress objects that protect their paths in the same way.
func (s *settings) protection() string {
	var all []string
	for name, value := range s.values {
		if protectionOf(annotationPrefix+name, value) != protectsNothing || name == "satisfy" || name == "ssl-redirect" && isFalse(value) {
			all = append(all, name+"="+value)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

const (
	annotationPrefix  = "nginx.ingress.kubernetes.io/"
	classAnnotation   = "kubernetes.io/ingress.class"
	clusterIssuer     = "cert-manager.io/cluster-issuer"
	issuer            = "cert-manager.io/issuer"
	certManagerPrefix = "cert-manager.io/"
)

// readAnnotations reads the annotations of an Ingress, and the settings of the controller that hold for it.
func readAnnotations(x *ingressImport, o *object, ingress *networkingv1.Ingress) (*settings, error) {
	id, err := x.uniqueID(ingress)
	if err != nil {
		return nil, err
	}
	s := &settings{sslRedirect: true, protocol: "HTTP", values: map[string]string{}, name: ingress.Name, id: strings.ReplaceAll(id, "-", "_"), file: id + ".include"}
	x.settings = append(x.settings, s)
	a := &annotationReader{importer: x, settings: s, outcomes: map[string]Outcome{}, notes: map[string]string{}}
	x.controller.setValues(s.values, ingress.Annotations)
	s.unknownAuthSnippet = x.controller.snippets == snippetsUnknown && s.values["auth-snippet"] != "" && s.values["auth-url"] != ""
	s.canary = isTrue(s.values["canary"])
	names := slices.Collect(maps.Keys(ingress.Annotations))
	for _, name := range x.controller.defaults(s.values) {
		names = append(names, annotationPrefix+name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, key := range names {
		a.outcomes[key], a.notes[key] = a.read(key)
	}
	for _, key := range names {
		outcome, note, effective := a.readPart(key)
		if outcome == NotCarried && effective {
			note += a.closes(key, ingress.Annotations[key], note)
		}
		if _, set := ingress.Annotations[key]; set {
			o.take(annotationPath(key), outcome, note)
		}
	}
	x.controller.closes(x, s)
	return s, nil
}

// closes closes what an annotation protects that is not carried over, and returns a note about it.
func (a *annotationReader) closes(key, value, why string) string {
	s := a.settings
	switch name := strings.TrimPrefix(key, annotationPrefix); protectionOf(key, value) {
	case protectsNothing:
	case protectsPaths:
		s.closed = append(s.closed, a.importer.close(s, name, why))
		return "; until you replace it, the paths of the Ingress answer 403"
	case protectsHosts:
		s.closedHosts = append(s.closedHosts, a.importer.close(s, name, why))
		return "; until you replace it, the hosts of the Ingress answer 403"
	}
	return ""
}

// close makes a step of a protecting setting that is not carried over.
func (x *ingressImport) close(s *settings, setting, why string) closure {
	c := closure{s.name, setting}
	x.review.step("Protect what answers 403 because of the Ingress %s: %s is not carried over (%s). Then delete the lines %q of %s.", s.name, setting, why, c.line(), ingressFile)
	return c
}

// annotationReader applies annotations to settings.
type annotationReader struct {
	importer *ingressImport
	settings *settings
	// outcomes and notes are those of the annotations, by their keys.
	outcomes map[string]Outcome
	notes    map[string]string
}

// readPart returns what becomes of an annotation, and whether it has an effect. One that another annotation uses has its
// outcome.
func (a *annotationReader) readPart(key string) (outcome Outcome, note string, effective bool) {
	parts := mainOfPart[strings.TrimPrefix(key, annotationPrefix)]
	if parts == nil || !strings.HasPrefix(key, annotationPrefix) {
		return a.outcomes[key], a.notes[key], true
	}
	for _, main := range parts {
		if value := a.settings.values[main]; value != "" && !isFalse(value) {
			if unsupported[strings.TrimPrefix(key, annotationPrefix)] != "" {
				return a.outcomes[key], a.notes[key], true
			}
			return a.outcomes[annotationPrefix+main], "see " + main, false
		}
	}
	return NotCarried, "it has no effect without " + strings.Join(parts, " or "), false
}

// read applies an annotation.
func (a *annotationReader) read(key string) (Outcome, string) {
	name, own := strings.CutPrefix(key, annotationPrefix)
	if !own {
		return foreign(key)
	}
	value := a.settings.values[name]
	if strings.ContainsFunc(value, isControl) && !strings.HasSuffix(name, "-snippet") {
		return NotCarried, "the value has a line break or a control character"
	}
	if d, ok := directives[name]; ok {
		return d.read(a.settings, value)
	}
	if read := annotations[name]; read != nil {
		return read(a, value)
	}
	if note := unsupported[name]; note != "" {
		return NotCarried, note
	}
	return NotCarried, "nginx has no counterpart that is known to this version: write it into the configuration"
}

// foreign returns what becomes of an annotation that is not one of ingress-nginx.
func foreign(key string) (Outcome, string) {
	switch {
	case key == classAnnotation:
		return NotCarried, "the application serves the requests itself, without an Ingress controller"
	case key == clusterIssuer || key == issuer:
		return Changed, "spec.tls[].certificate.issuerRef"
	case strings.HasPrefix(key, "external-dns.alpha.kubernetes.io/"):
		return NotCarried, "set it in service.annotations"
	case strings.HasPrefix(key, "nginx.org/") || strings.HasPrefix(key, "nginx.com/"):
		return NotCarried, "the import knows the annotations of ingress-nginx, and not those of other controllers: write the directive into the configuration"
	}
	return NotCarried, "it is for another controller: set it in service.annotations or podTemplate.annotations if that one reads it there"
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// issued returns the Certificate that cert-manager's annotations declare for the hosts, or nil.
func issued(o *object, ingress *networkingv1.Ingress, hosts []string) *v1alpha2.IssuedCertificate {
	name, kind := ingress.Annotations[clusterIssuer], "ClusterIssuer"
	if name == "" {
		name, kind = ingress.Annotations[issuer], "Issuer"
	}
	if name == "" {
		return nil
	}
	if len(hosts) == 0 {
		o.take(annotationPath(clusterIssuer), NotCarried, "the entry of spec.tls has no hosts, which a Certificate needs")
		return nil
	}
	var names []v1alpha2.Hostname
	for _, h := range hosts {
		names = append(names, v1alpha2.Hostname(h))
	}
	return &v1alpha2.IssuedCertificate{IssuerRef: v1alpha2.IssuerReference{Name: name, Kind: &kind}, DNSNames: names}
}
