package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// Files of an imported set of Ingress objects.
const (
	ingressFile    = "ingress.conf"
	headersFile    = "proxy-headers.include"
	streamFileName = "ingress.stream.conf"
)

// proxyHeaders are the headers that ingress-nginx adds to each request, apart from Host and Connection.
const proxyHeaders = `X-Request-ID $request_id
X-Real-IP $remote_addr
X-Forwarded-For $remote_addr
X-Forwarded-Host $http_host
X-Forwarded-Port $server_port
X-Forwarded-Proto $scheme
X-Forwarded-Scheme $scheme
X-Scheme $scheme
X-Original-Forwarded-For $http_x_forwarded_for
Proxy ""
Upgrade $http_upgrade`

// ingressDefaults are settings of ingress-nginx that differ from those of nginx.
const ingressDefaults = `# What ingress-nginx sets for all servers.
absolute_redirect off;
server_name_in_redirect off;
proxy_connect_timeout 5s;
proxy_http_version 1.1;
proxy_buffering off;
proxy_buffer_size 4k;
proxy_buffers 4 4k;
proxy_next_upstream error timeout;
proxy_next_upstream_tries 3;
proxy_redirect off;
proxy_pass_header Server;
limit_req_status 503;
limit_conn_status 503;
map $http_upgrade $connection_upgrade {
    default upgrade;
    "" "";
}
map $scheme $hsts {
    default "";
    https "max-age=31536000; includeSubDomains";
}
`

// writer writes a configuration with indentation.
type writer struct {
	strings.Builder
	depth int
}

func (w *writer) line(text string) {
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if l = strings.TrimRight(l, " \t\r"); l != "" {
			l = strings.Repeat("    ", w.depth) + l
		}
		w.WriteString(l + "\n")
	}
}

func (w *writer) open(text string) {
	w.line(text + " {")
	w.depth++
}

func (w *writer) close() {
	w.depth--
	w.line("}")
}

// finish renders the configuration of the Ingress objects.
func (x *ingressImport) finish(r *Result) error {
	w := &writer{}
	w.line(ingressDefaults)
	for _, line := range unique(append(slices.Clone(x.controller.http), x.http...)) {
		w.line(line)
	}
	for _, name := range slices.Sorted(maps.Keys(x.upstreams)) {
		w.open("upstream " + name)
		w.line("server " + x.upstreams[name] + ";")
		w.line("keepalive 32;")
		w.close()
	}
	x.host("")
	x.closeAliases()
	for _, name := range slices.Sorted(maps.Keys(x.hosts)) {
		x.closeSameRegex(x.hosts[name])
		x.closeUnclearRegex(x.hosts[name])
		x.closeUnclearRoot(x.hosts[name])
	}
	// The server of all other hosts has the place of _, because the first one of several with a name gets its requests.
	names := slices.SortedFunc(maps.Keys(x.hosts), func(a, b string) int { return cmp.Compare(cmp.Or(a, "_"), cmp.Or(b, "_")) })
	for _, name := range names {
		x.renderHost(w, x.hosts[name])
	}
	files := newFiles()
	files.add(ingressFile, w.String())
	files.add(headersFile, headerLines("proxy_set_header"))
	for _, s := range x.settings {
		if lines := s.lines(x.controller); len(lines) > 0 {
			files.add(s.file, strings.Join(lines, "\n")+"\n")
		}
	}
	if len(x.stream) > 0 {
		files.add(streamFileName, strings.Join(x.stream, "\n")+"\n")
	}
	x.addPorts()
	x.mountSecrets()
	if err := r.add(x.app, files); err != nil {
		return err
	}
	if len(x.secrets) > 0 && x.app.Namespace != x.namespace {
		x.review.step("Copy the Secrets %s from the namespace %s: those of the same names in %s may admit others.",
			strings.Join(slices.Sorted(maps.Keys(x.secrets)), ", "), cmp.Or(x.namespace, "default"), x.app.Namespace)
	}
	x.review.step("Point the clients to the application: set service.type to LoadBalancer, or change the DNS names to its addresses (%s).", strings.Join(named(names), ", "))
	if len(x.upstreams) > 0 {
		x.review.step("Keep the Services to which requests are passed: nginx refuses a configuration with a name that does not resolve.")
	}
	return nil
}

// lines returns the lines of the locations of an Ingress. Those that refuse addresses come first, and snippets last.
func (s *settings) lines(k *controller) []string {
	lines := slices.Concat(s.access, s.location)
	if s.snippet != "" {
		lines = append(lines, s.snippet)
	}
	return append(lines, k.location...)
}

func named(hosts []string) []string {
	return slices.DeleteFunc(hosts, func(name string) bool { return name == "" })
}

func unique(lines []string) []string {
	var found []string
	for _, l := range lines {
		if !slices.Contains(found, l) {
			found = append(found, l)
		}
	}
	return found
}

func headerLines(directive string) string {
	var b strings.Builder
	for header := range strings.SplitSeq(proxyHeaders, "\n") {
		b.WriteString(directive + " " + header + ";\n")
	}
	return b.String()
}

// usesTLS reports whether a server has a certificate.
func (x *ingressImport) usesTLS() bool {
	for _, h := range x.hosts {
		if h.tls != "" {
			return true
		}
	}
	return false
}

func (x *ingressImport) addPorts() {
	if x.usesTLS() {
		x.app.Spec.Ports = []v1alpha2.Port{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}, {Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}}
	}
}

// mountSecrets mounts the Secrets that the configuration names.
func (x *ingressImport) mountSecrets() {
	if len(x.secrets) == 0 {
		return
	}
	t := &v1alpha2.PodTemplate{}
	for i, name := range slices.Sorted(maps.Keys(x.secrets)) {
		volume := fmt.Sprintf("secret-%d", i+1)
		t.Volumes = append(t.Volumes, v1alpha2.Volume{Name: volume, Secret: &corev1.SecretVolumeSource{SecretName: name}})
		t.VolumeMounts = append(t.VolumeMounts, v1alpha2.VolumeMount{Name: volume, MountPath: secretDir + "/" + name})
		t.ReloadOn = append(t.ReloadOn, volume)
	}
	x.app.Spec.PodTemplate = t
}

// renderHost renders the server of a host. That without a name answers all others, too.
func (x *ingressImport) renderHost(w *writer, h *host) {
	x.renderWWW(w, h)
	w.open("server")
	option := ""
	if h.name == "" {
		option = " default_server"
	}
	w.line("listen 80" + option + ";")
	switch {
	case h.tls != "":
		w.line("listen 443 ssl" + option + ";")
		w.line("http2 on;")
		w.line("ssl_certificate /etc/nginx/tls/" + h.tls + "/tls.crt;")
		w.line("ssl_certificate_key /etc/nginx/tls/" + h.tls + "/tls.key;")
	case x.usesTLS():
		// Otherwise a server with a wildcard would answer for the host over TLS.
		w.line("listen 443 ssl" + option + ";")
		w.line("ssl_reject_handshake on;")
	}
	w.line("server_name " + strings.Join(x.names(h), " ") + ";")
	certificate, snippet := x.serverSettings(h)
	closedLines(w, h.closed)
	for _, line := range slices.Concat(x.controller.server, certificate, h.tlsLines()) {
		w.line(line)
	}
	if snippet != "" {
		w.line(snippet)
	}
	locations := h.sorted()
	for _, line := range unique(slices.Concat(appRoots(locations), internal(locations))) {
		w.line(line)
	}
	for _, l := range locations {
		x.renderLocation(w, h, l)
	}
	switch {
	case slices.ContainsFunc(locations, (*location).isRoot):
	case h.regex():
		w.line(`location ~* "^/" { return 404; }`)
	default:
		w.line("location / { return 404; }")
	}
	w.close()
}

// names returns the names of a server. One that is a host of its own is no alias.
func (x *ingressImport) names(h *host) []string {
	names := []string{cmp.Or(serverName(h.name), "_")}
	if own := aliased(h); len(own) > 0 { // ingress-nginx takes those of the first Ingress
		for _, alias := range own[0].aliases {
			if x.hosts[alias] == nil {
				names = append(names, alias)
			}
		}
	}
	return unique(names)
}

// closeAliases closes the aliases of hosts for which Ingress objects set different ones, if it is not known which of them
// ingress-nginx takes.
func (x *ingressImport) closeAliases() {
	for _, name := range slices.Sorted(maps.Keys(x.hosts)) {
		h := x.hosts[name]
		own := aliased(h)
		for _, s := range own {
			if x.ordered || slices.Equal(s.aliases, own[0].aliases) {
				continue
			}
			c := x.ambiguous(h, own[0], s, "server-alias")
			for _, alias := range slices.Concat(own[0].aliases, s.aliases) {
				if x.hosts[alias] == nil {
					x.hosts[alias] = &host{name: alias, tls: h.tls, closed: []closure{c}}
				}
			}
		}
	}
}

// closeSameRegex closes a path that two Ingress objects have with different types, if the paths of their host are regular
// expressions: the types make no difference then, and the first path counts, which may be that of another namespace.
func (x *ingressImport) closeSameRegex(h *host) {
	if !h.regex() {
		return
	}
	for i, first := range h.locations {
		for _, second := range h.locations[i+1:] {
			if first.path != second.path || first.path == "/" {
				continue // The path / comes before the exact one.
			}
			if !x.ordered && first.settings != nil && second.settings != nil && first.settings.protection() != second.settings.protection() {
				first.closed = append(first.closed, x.ambiguous(h, first.settings, second.settings, "the path "+first.path))
			}
			first.closed = slices.Concat(first.closed, second.closed)
			second.closed = first.closed
		}
	}
}

// closeUnclearRoot closes the default backend of a host with several Ingress objects, if it is not known which one is the first:
// only the default backend of the first one counts.
func (x *ingressImport) closeUnclearRoot(h *host) {
	if x.ordered || h.root == nil || h.name == "" {
		return
	}
	if other := slices.IndexFunc(h.settings, func(s *settings) bool { return !s.canary && s != h.root.settings }); other >= 0 {
		root := *h.root // the Ingress may have other hosts
		root.closed = append(slices.Clip(root.closed), x.ambiguous(h, root.settings, h.settings[other], "the default backend"))
		h.root = &root
	}
}

// serverName returns a host as it is written in server_name. nginx's own form of a wildcard matches more than one label.
func serverName(host string) string {
	domain, wildcard := strings.CutPrefix(strings.ToLower(host), "*.")
	if !wildcard {
		return strings.ToLower(host)
	}
	return `"~^(?<subdomain>[\w-]+)\.` + strings.ReplaceAll(domain, ".", `\.`) + `$"`
}

// serverSettings returns the lines that require certificates of clients and the snippet of a server, of which the first
// Ingress wins, and closes the host for protecting settings that are not carried over.
func (x *ingressImport) serverSettings(h *host) (certificate []string, snippet string) {
	var certificateOf, snippetOf *settings
	for _, s := range h.settings {
		h.closed = append(h.closed, s.closedHosts...)
		certificateOf = x.firstCertificate(h, certificateOf, s)
		snippetOf = x.firstSnippet(h, snippetOf, s)
	}
	if certificateOf != nil {
		certificate = certificateOf.clientCertificate
		x.useCertificate(h, certificateOf)
	}
	if snippetOf != nil {
		snippet = snippetOf.serverSnippet
	}
	return certificate, snippet
}

// firstCertificate returns which of two Ingress objects requires certificates of clients: the first one that does, or nil.
func (x *ingressImport) firstCertificate(h *host, first, s *settings) *settings {
	switch {
	case len(s.clientCertificate) == 0:
	case first == nil:
		return s
	case !x.ordered && !slices.Equal(first.clientCertificate, s.clientCertificate):
		h.closed = append(h.closed, x.ambiguous(h, first, s, "auth-tls-secret"))
	}
	return first
}

// firstSnippet returns which of two Ingress objects has the snippet of a server: the first one that does, or nil.
func (x *ingressImport) firstSnippet(h *host, first, s *settings) *settings {
	switch {
	case s.serverSnippet == "" || s.canary:
	case first == nil:
		return s
	case s.serverSnippet == first.serverSnippet:
	case x.ordered:
		x.review.step("Check the server-snippet of %s: ingress-nginx takes that of the Ingress %s, and ignores that of %s.", cmp.Or(h.name, "all hosts"), first.name, s.name)
	default:
		h.closed = append(h.closed, x.ambiguous(h, first, s, "server-snippet"))
	}
	return first
}

// useCertificate tells the backends of a host about the certificates of clients, and closes the host if clients send none.
func (x *ingressImport) useCertificate(h *host, s *settings) {
	h.certificateHeaders = s.certificateHeaders
	if h.tls == "" {
		h.closed = append(h.closed, x.close(s, "auth-tls-secret", "the host "+cmp.Or(h.name, "of all other names")+" has no certificate, so clients send none: give it a secretName in spec.tls"))
	}
}

// tlsLines returns the lines of the server about TLS. Of each directive, the first one wins.
func (h *host) tlsLines() (lines []string) {
	seen := map[string]bool{}
	for _, s := range h.settings {
		for _, line := range s.tls {
			if name, _, _ := strings.Cut(line, " "); !seen[name] && !s.canary {
				seen[name] = true
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// internal returns the locations that others use, such as those that ask about each request.
func internal(locations []*location) (lines []string) {
	for _, l := range locations {
		if l.settings != nil {
			lines = append(lines, l.settings.internal...)
		}
	}
	return lines
}

// appRoots returns the lines that redirect from / to the root of an application.
func appRoots(locations []*location) (lines []string) {
	for _, l := range locations {
		if l.settings != nil && l.settings.appRoot != "" {
			lines = append(lines, "if ($uri = /) { return 302 $scheme://$http_host"+l.settings.appRoot+"; }")
		}
	}
	return lines
}

// isRoot reports whether a path matches every request.
func (l *location) isRoot() bool { return l.path == "/" && l.pathType != networkingv1.PathTypeExact }

// closeForeign closes what an Ingress of another namespace has: ingress-nginx serves a host from all namespaces, and an
// application only from its own.
func (x *ingressImport) closeForeign(other *ingressImport) {
	for _, name := range slices.Sorted(maps.Keys(other.hosts)) {
		foreign := other.hosts[name]
		if len(foreign.settings) == 0 && foreign.root == nil {
			continue // it is closed because of a third namespace
		}
		for _, s := range foreign.settings {
			for _, alias := range s.aliases {
				x.closeHost(alias, other.namespace)
			}
		}
		if x.hosts[name] == nil {
			x.closeHost(name, other.namespace)
			continue
		}
		x.closeShared(x.hosts[name], foreign, other.namespace)
	}
}

// closeShared closes what an Ingress of another namespace has of a host that both namespaces have.
func (x *ingressImport) closeShared(h, foreign *host, namespace string) {
	x.review.step("Decide which application answers for %s: the namespaces %s and %s both have it, and each application answers 403 for the paths of the other one. "+
		"To divide a host, let one of them pass on the paths of the other.", cmp.Or(h.name, "all other hosts"), cmp.Or(x.namespace, "default"), cmp.Or(namespace, "default"))
	for _, s := range foreign.settings {
		if len(s.clientCertificate) > 0 || s.serverSnippet != "" || len(s.closedHosts) > 0 {
			h.closed = append(h.closed, closure{s.name, "what it sets for the whole server"})
		}
	}
	x.closeForeignAliases(h, foreign, namespace)
	h.foreign, h.foreignTLS = append(h.foreign, foreign), h.foreignTLS || foreign.tls != ""
	h.closeForeignRoot(foreign, namespace)
	for _, l := range foreign.locations {
		if l.settings != nil {
			h.closeForeignPath(l, namespace)
		}
	}
}

// closeForeignAliases closes the aliases of a host if an Ingress of another namespace has aliases of the same host: ingress-nginx
// takes those of the first Ingress.
func (x *ingressImport) closeForeignAliases(h, foreign *host, namespace string) {
	if len(aliased(foreign)) == 0 {
		return
	}
	for _, s := range aliased(h) {
		for _, alias := range s.aliases {
			x.closeHost(alias, namespace)
		}
	}
}

// aliased returns the settings of a host that have aliases.
func aliased(h *host) []*settings {
	return slices.DeleteFunc(slices.Clone(h.settings), func(s *settings) bool { return s.canary || len(s.aliases) == 0 })
}

// closeForeignRoot closes the default backend of a host if it may be that of another namespace.
func (h *host) closeForeignRoot(foreign *host, namespace string) {
	c := closure{"the namespace " + namespace, "the default backend"}
	// The default backend of a host is that of its first Ingress, which may be one of the other namespace.
	if h.root != nil && (foreign.root != nil || h.name != "" && len(foreign.settings) > 0 || slices.ContainsFunc(foreign.locations, (*location).isRoot)) {
		root := *h.root
		root.closed = append(slices.Clip(root.closed), c)
		h.root = &root
	}
	if root := slices.IndexFunc(h.locations, (*location).isRoot); root >= 0 && foreign.root != nil && h.name == "" {
		h.locations[root].closed = append(h.locations[root].closed, c)
	}
}

// closeForeignPath closes a path of another namespace.
func (h *host) closeForeignPath(l *location, namespace string) {
	c := closure{l.settings.name, "the path belongs to the namespace " + namespace}
	if at := slices.IndexFunc(h.locations, func(own *location) bool { return own.path == l.path && own.pathType == l.pathType }); at >= 0 {
		h.locations[at].closed = append(h.locations[at].closed, c)
		return
	}
	h.locations = append(h.locations, &location{path: l.path, pathType: l.pathType, closed: []closure{c}})
}

// closeHost closes a host of another namespace, if a host of this one would answer for it.
func (x *ingressImport) closeHost(name, namespace string) {
	if covering := x.covering(name); covering != nil && x.hosts[name] == nil {
		x.hosts[name] = &host{name: name, tls: covering.tls, closed: []closure{{"the namespace " + namespace, "the host"}}}
	}
}

// covering returns the host that would answer for a name that is none of the hosts, if an Ingress has it.
func (x *ingressImport) covering(name string) *host {
	for _, own := range slices.Sorted(maps.Keys(x.hosts)) {
		if slices.ContainsFunc(x.hosts[own].settings, func(s *settings) bool { return slices.Contains(s.aliases, name) }) {
			return x.hosts[own]
		}
	}
	_, domain, _ := strings.Cut(name, ".")
	for _, h := range []*host{x.hosts["*."+domain], x.hosts[""]} {
		if h != nil && (len(h.settings) > 0 || h.root != nil) {
			return h
		}
	}
	return nil
}

// renderWWW renders a server that redirects from a name with www. to the one without, or the other way round.
func (x *ingressImport) renderWWW(w *writer, h *host) {
	wanted := slices.ContainsFunc(h.locations, func(l *location) bool { return l.settings != nil && l.settings.values["www"] == "true" })
	other := "www." + h.name
	if rest, ok := strings.CutPrefix(h.name, "www."); ok {
		other = rest
	}
	if !wanted || h.name == "" || x.hosts[other] != nil {
		return
	}
	w.open("server")
	w.line("listen 80;")
	if h.tls != "" {
		w.line("listen 443 ssl;")
		w.line("ssl_certificate /etc/nginx/tls/" + h.tls + "/tls.crt;")
		w.line("ssl_certificate_key /etc/nginx/tls/" + h.tls + "/tls.key;")
	}
	w.line("server_name " + other + ";")
	w.line("return 308 $scheme://" + h.name + "$request_uri;")
	w.close()
}

// regex reports whether the paths of a server are regular expressions.
func (h *host) regex() bool {
	return slices.ContainsFunc(h.claims(), func(c claim) bool { return c.by[0].makesRegex(c.path) })
}

// claim is a path of a server, and the settings of which ingress-nginx takes one for it: the first, if the order is known.
type claim struct {
	path     string
	pathType networkingv1.PathType
	by       []*settings
}

// claims returns the paths of a server that Ingress objects of all namespaces have, and the path / that ingress-nginx adds with the
// annotations of the first one.
func (h *host) claims() (all []claim) {
	var own []*settings
	hasRoot := false
	for _, one := range append([]*host{h}, h.foreign...) {
		for _, l := range one.locations {
			hasRoot = hasRoot || l.isRoot()
			if l.settings == nil {
				continue
			}
			by := append([]*settings{l.settings}, l.rivals...)
			if at := slices.IndexFunc(all, func(c claim) bool { return c.path == l.path && c.pathType == l.pathType }); at >= 0 {
				all[at].by = append(all[at].by, by...)
			} else {
				all = append(all, claim{l.path, l.pathType, by})
			}
		}
		for _, s := range one.settings {
			if !s.canary {
				own = append(own, s)
			}
		}
	}
	if h.name != "" && len(own) > 0 && !hasRoot {
		all = append(all, claim{"/", networkingv1.PathTypePrefix, own})
	}
	return all
}

// closeUnclearRegex closes a host whose paths are regular expressions only if ingress-nginx takes one of two Ingress objects, and
// it is not known which one it takes.
func (x *ingressImport) closeUnclearRegex(h *host) {
	if x.ordered && len(h.foreign) == 0 {
		return
	}
	var unclear []closure
	for _, c := range h.claims() {
		with := slices.IndexFunc(c.by, func(s *settings) bool { return s.makesRegex(c.path) })
		without := slices.IndexFunc(c.by, func(s *settings) bool { return !s.makesRegex(c.path) })
		switch {
		case with >= 0 && without < 0:
			return
		case with >= 0 && len(h.foreign) > 0:
			// There is a step about the host of several namespaces.
			unclear = append(unclear, closure{c.by[with].name, "whether paths are regular expressions"})
		case with >= 0:
			unclear = append(unclear, x.ambiguous(h, c.by[with], c.by[without], "the path "+c.path))
		}
	}
	h.closed = append(h.closed, unclear...)
}

// sorted returns the locations in the order of ingress-nginx: of regular expressions, nginx takes the first that matches.
func (h *host) sorted() []*location {
	sorted := slices.Clone(h.locations)
	if h.root != nil && (h.name == "" || !slices.ContainsFunc(sorted, (*location).isRoot)) {
		// For all other hosts, the backend of an Ingress without rules wins over the path /.
		sorted = append(slices.DeleteFunc(sorted, (*location).isRoot), h.root)
	}
	if h.regex() {
		// As a regular expression, an exact / is what the path / is, and comes after it.
		sorted = slices.DeleteFunc(sorted, func(l *location) bool { return l.path == "/" && !l.isRoot() })
	}
	slices.SortStableFunc(sorted, func(a, b *location) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), cmp.Compare(b.path, a.path))
	})
	return sorted
}

// matches returns the parameters of the location blocks of a path.
func (h *host) matches(l *location) []string {
	path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.path)
	switch {
	case h.regex():
		return []string{fmt.Sprintf(`~* "^%s"`, path)}
	case l.pathType == networkingv1.PathTypeExact:
		return []string{fmt.Sprintf(`= "%s"`, path)}
	case strings.HasSuffix(path, "/"):
		return []string{fmt.Sprintf(`"%s"`, path)}
	}
	exact := func(other *location) bool {
		return other.path == l.path && other.pathType == networkingv1.PathTypeExact
	}
	if slices.ContainsFunc(h.locations, exact) {
		return []string{fmt.Sprintf(`"%s/"`, path)}
	}
	return []string{fmt.Sprintf(`= "%s"`, path), fmt.Sprintf(`"%s/"`, path)}
}

func (x *ingressImport) renderLocation(w *writer, h *host, l *location) {
	for _, match := range h.matches(l) {
		w.open("location " + match)
		x.renderBody(w, h, l)
		w.close()
	}
}

func (x *ingressImport) renderBody(w *writer, h *host, l *location) {
	closedLines(w, l.closed)
	s := l.settings
	if s == nil {
		return
	}
	closedLines(w, s.closed)
	if s.forceSSLRedirect || s.sslRedirect && (h.tls != "" || h.foreignTLS) {
		w.line("if ($scheme = http) { return 308 https://$host$request_uri; }")
	}
	if s.accessLogOff {
		w.line("access_log off;")
	}
	if h.tls != "" {
		w.line("add_header Strict-Transport-Security $hsts always;")
	}
	if len(s.lines(x.controller)) > 0 {
		w.line("include " + s.file + ";")
	}
	switch {
	case s.redirect != "":
		w.line(s.redirect)
	case l.missing != "":
		w.line("return 503;")
	default:
		w.line(strings.Join(pass(h, s, l), "\n"))
	}
}

// pass returns the lines that pass a request to the backend.
func pass(h *host, s *settings, l *location) []string {
	var lines []string
	if target := s.rewriteTarget; s.needsRewrite(l.path) {
		path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.path)
		lines = append(lines, fmt.Sprintf(`rewrite "(?i)%s" %s break;`, path, target))
	}
	headers := append([]string{"proxy_set_header Host " + cmp.Or(s.host, "$http_host") + ";", "proxy_set_header Connection " + cmp.Or(s.connection, "$connection_upgrade") + ";", "include " + headersFile + ";"}, s.proxyHeaders...)
	headers = append(headers, h.certificateHeaders...)
	if s.prefix != "" && s.rewriteTarget != "" {
		headers = append(headers, "proxy_set_header X-Forwarded-Prefix "+quoted(s.prefix)+";")
	}
	switch s.protocol {
	case "FCGI":
		return append(lines, "include fastcgi_params;", "fastcgi_pass "+l.upstream+";")
	case "GRPC", "GRPCS":
		for _, header := range slices.Concat(s.proxyHeaders, h.certificateHeaders) {
			lines = append(lines, strings.Replace(header, "proxy_set_header", "grpc_set_header", 1))
		}
		if s.values["auth-type"] != "" {
			lines = append(lines, `grpc_set_header Authorization "";`)
		}
		return append(lines, "grpc_set_header Host "+cmp.Or(s.host, "$http_host")+";", "grpc_set_header X-Request-ID $request_id;", "grpc_set_header X-Real-IP $remote_addr;",
			"grpc_set_header X-Forwarded-For $remote_addr;", "grpc_set_header X-Forwarded-Proto $scheme;", "grpc_pass "+strings.ToLower(s.protocol)+"://"+l.upstream+";")
	}
	scheme := map[string]string{"HTTPS": "https", "AUTO_HTTP": "$scheme"}[s.protocol]
	return append(append(lines, headers...), "proxy_pass "+cmp.Or(scheme, "http")+"://"+l.upstream+";")
}
