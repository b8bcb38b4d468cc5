package importer

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// settings are what the annotations of an Ingress say.
type settings struct {
	// location, server and http are lines of these contexts.
	location, server []string
	aliases          []string
	rewriteTarget    string
	useRegex         bool
	// redirect answers each request, and appRoot those for /.
	redirect, appRoot string
	sslRedirect       bool
	forceSSLRedirect  bool
	protocol          string
	host, prefix      string
	connection        string
	proxyHeaders      []string
	accessLogOff      bool
	// closed is set if an annotation that protects the paths is not carried over.
	closed bool
	// id is a part of the names of variables, and file has the lines of the locations.
	id, file string
	// values are annotations that are used together, by their names.
	values map[string]string
}

// regex reports whether the paths of the Ingress's hosts are regular expressions.
func (s *settings) regex() bool { return s.useRegex || s.rewriteTarget != "" }

const (
	annotationPrefix  = "nginx.ingress.kubernetes.io/"
	classAnnotation   = "kubernetes.io/ingress.class"
	clusterIssuer     = "cert-manager.io/cluster-issuer"
	issuer            = "cert-manager.io/issuer"
	certManagerPrefix = "cert-manager.io/"
)

// protecting are annotations without which anybody could reach the paths of an Ingress.
var protecting = []string{"auth-type", "auth-url", "auth-tls-secret", "whitelist-source-range", "allowlist-source-range", "denylist-source-range"}

// readAnnotations reads the annotations of an Ingress. It returns false if the Ingress is only a variant of another one.
func readAnnotations(x *ingressImport, o *object, ingress *networkingv1.Ingress) (*settings, bool) {
	s := &settings{sslRedirect: true, protocol: "HTTP", values: map[string]string{}, id: strings.ReplaceAll(applicationName(ingress.Name), "-", "_")}
	s.file = cmp.Or(applicationName(ingress.Name), "ingress") + ".include"
	x.settings = append(x.settings, s)
	a := &annotationReader{importer: x, settings: s, outcomes: map[string]Outcome{}, notes: map[string]string{}}
	for key, value := range ingress.Annotations {
		if name, ok := strings.CutPrefix(key, annotationPrefix); ok {
			s.values[name] = strings.TrimSpace(value)
		}
	}
	names := make([]string, 0, len(ingress.Annotations))
	for key := range ingress.Annotations {
		names = append(names, key)
	}
	slices.Sort(names)
	for _, key := range names {
		a.outcomes[key], a.notes[key] = a.read(key)
	}
	for _, key := range names {
		outcome, note := a.readPart(key)
		if name := strings.TrimPrefix(key, annotationPrefix); outcome == NotCarried && slices.Contains(protecting, name) {
			s.closed = true
			x.review.step("Protect the paths of the Ingress %s, which answer 503 until then: the annotation %s is not carried over (%s).", ingress.Name, name, note)
			note += "; until you replace it, the paths of the Ingress answer 503"
		}
		o.take(annotationPath(key), outcome, note)
	}
	return s, s.values["canary"] != "true"
}

// annotationReader applies annotations to settings.
type annotationReader struct {
	importer *ingressImport
	settings *settings
	// outcomes and notes are those of the annotations, by their keys.
	outcomes map[string]Outcome
	notes    map[string]string
}

// readPart returns what becomes of an annotation. One that another annotation uses has its outcome.
func (a *annotationReader) readPart(key string) (Outcome, string) {
	parts := mainOfPart[strings.TrimPrefix(key, annotationPrefix)]
	if parts == nil || !strings.HasPrefix(key, annotationPrefix) {
		return a.outcomes[key], a.notes[key]
	}
	for _, main := range parts {
		if value := a.settings.values[main]; value != "" && value != "false" {
			return a.outcomes[annotationPrefix+main], "see " + main
		}
	}
	return NotCarried, "it has no effect without " + strings.Join(parts, " or ")
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
