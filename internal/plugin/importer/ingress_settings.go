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

// readAnnotations reads the annotations of an Ingress. It returns false if the Ingress is only a variant of another one.
func readAnnotations(x *ingressImport, o *object, ingress *networkingv1.Ingress) (*settings, bool) {
	s := &settings{sslRedirect: true, protocol: "HTTP", values: map[string]string{}, id: strings.ReplaceAll(applicationName(ingress.Name), "-", "_")}
	s.file = cmp.Or(applicationName(ingress.Name), "ingress") + ".include"
	x.settings = append(x.settings, s)
	a := &annotationReader{importer: x, settings: s}
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
		outcome, note := a.read(key)
		o.take(annotationPath(key), outcome, note)
	}
	return s, s.values["canary"] != "true"
}

// annotationReader applies annotations to settings.
type annotationReader struct {
	importer *ingressImport
	settings *settings
}

// read applies an annotation.
func (a *annotationReader) read(key string) (Outcome, string) {
	name, own := strings.CutPrefix(key, annotationPrefix)
	switch {
	case key == classAnnotation:
		return NotCarried, "the application serves the requests itself, without an Ingress controller"
	case key == clusterIssuer || key == issuer:
		return Changed, "spec.tls[].certificate.issuerRef"
	case strings.HasPrefix(key, "external-dns.alpha.kubernetes.io/"):
		return NotCarried, "set it in service.annotations"
	case !own:
		return NotCarried, "it is for another controller: set it in service.annotations or podTemplate.annotations if that one reads it there"
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
