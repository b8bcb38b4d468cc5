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
func (x *ingressImport) finish(r *Result) {
	w := &writer{}
	w.line(ingressDefaults)
	for _, line := range unique(x.http) {
		w.line(line)
	}
	for _, name := range slices.Sorted(maps.Keys(x.upstreams)) {
		w.open("upstream " + name)
		w.line("server " + x.upstreams[name] + ";")
		w.line("keepalive 32;")
		w.close()
	}
	if x.hosts[""] == nil {
		x.hosts[""] = &host{}
	}
	names := slices.Sorted(maps.Keys(x.hosts))
	for _, name := range names {
		x.renderHost(w, x.hosts[name])
	}
	files := map[string]string{ingressFile: w.String(), headersFile: headerLines("proxy_set_header")}
	for _, s := range x.settings {
		if len(s.location) > 0 {
			files[s.file] = strings.Join(s.location, "\n") + "\n"
		}
	}
	if len(x.stream) > 0 {
		files[streamFileName] = strings.Join(x.stream, "\n") + "\n"
	}
	x.addPorts()
	x.mountSecrets()
	r.store(x.app, files)
	r.Applications = append(r.Applications, x.app)
	x.review.step("Point the clients to the application: set service.type to LoadBalancer, or change the DNS names to its addresses (%s).", strings.Join(named(names), ", "))
	if len(x.upstreams) > 0 {
		x.review.step("Keep the Services to which requests are passed: nginx refuses a configuration with a name that does not resolve.")
	}
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
	case h.name == "" && x.usesTLS():
		w.line("listen 443 ssl default_server;")
		w.line("ssl_reject_handshake on;")
	}
	w.line("server_name " + strings.Join(append([]string{cmp.Or(h.name, "_")}, h.aliases...), " ") + ";")
	for _, line := range unique(h.lines) {
		w.line(line)
	}
	for _, l := range h.sorted() {
		x.renderLocation(w, h, l)
	}
	if !slices.ContainsFunc(h.locations, func(l *location) bool { return l.path == "/" && l.pathType != networkingv1.PathTypeExact }) {
		w.line("location / { return 404; }")
	}
	w.close()
}

// renderWWW renders a server that redirects from a name with www. to the one without, or the other way round.
func (x *ingressImport) renderWWW(w *writer, h *host) {
	wanted := slices.ContainsFunc(h.locations, func(l *location) bool { return l.settings.values["www"] == "true" })
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

// sorted returns the locations in the order of ingress-nginx: of regular expressions, nginx takes the first that matches.
func (h *host) sorted() []*location {
	sorted := slices.Clone(h.locations)
	slices.SortStableFunc(sorted, func(a, b *location) int { return cmp.Compare(len(b.path), len(a.path)) })
	return sorted
}

// matches returns the parameters of the location blocks of a path.
func (h *host) matches(l *location) []string {
	path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.path)
	switch {
	case h.regex && l.path != "/":
		return []string{fmt.Sprintf(`~* "^%s"`, path)}
	case l.pathType == networkingv1.PathTypeExact:
		return []string{fmt.Sprintf(`= "%s"`, path)}
	case l.pathType == networkingv1.PathTypePrefix && strings.TrimRight(path, "/") != "":
		path = strings.TrimRight(path, "/")
		return []string{fmt.Sprintf(`= "%s"`, path), fmt.Sprintf(`"%s/"`, path)}
	}
	return []string{fmt.Sprintf(`"%s"`, path)}
}

func (x *ingressImport) renderLocation(w *writer, h *host, l *location) {
	if l.settings.appRoot != "" && l.path == "/" {
		w.line("location = / { return 302 " + l.settings.appRoot + "; }")
	}
	for _, match := range h.matches(l) {
		w.open("location " + match)
		x.renderBody(w, h, l)
		w.close()
	}
}

func (x *ingressImport) renderBody(w *writer, h *host, l *location) {
	s := l.settings
	if s.closed {
		w.line("return 503;")
		return
	}
	if s.forceSSLRedirect || s.sslRedirect && h.tls != "" {
		w.line("if ($scheme = http) { return 308 https://$host$request_uri; }")
	}
	if s.accessLogOff {
		w.line("access_log off;")
	}
	if h.tls != "" {
		w.line("add_header Strict-Transport-Security $hsts always;")
	}
	if len(s.location) > 0 {
		w.line("include " + s.file + ";")
	}
	switch {
	case s.redirect != "":
		w.line(s.redirect)
	case l.missing != "":
		w.line("return 503;")
	default:
		w.line(strings.Join(pass(s, l), "\n"))
	}
}

// pass returns the lines that pass a request to the backend.
func pass(s *settings, l *location) []string {
	var lines []string
	if target := s.rewriteTarget; target != "" && target != l.path {
		path := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l.path)
		lines = append(lines, fmt.Sprintf(`rewrite "(?i)%s" %s break;`, path, target))
	}
	headers := append([]string{"proxy_set_header Host " + cmp.Or(s.host, "$http_host") + ";", "proxy_set_header Connection " + cmp.Or(s.connection, "$connection_upgrade") + ";", "include " + headersFile + ";"}, s.proxyHeaders...)
	if s.prefix != "" && s.rewriteTarget != "" {
		headers = append(headers, "proxy_set_header X-Forwarded-Prefix "+quoted(s.prefix)+";")
	}
	switch s.protocol {
	case "FCGI":
		return append(lines, "include fastcgi_params;", "fastcgi_pass "+l.upstream+";")
	case "GRPC", "GRPCS":
		return append(lines, "grpc_set_header Host "+cmp.Or(s.host, "$http_host")+";", "grpc_set_header X-Request-ID $request_id;", "grpc_set_header X-Real-IP $remote_addr;",
			"grpc_set_header X-Forwarded-For $remote_addr;", "grpc_set_header X-Forwarded-Proto $scheme;", "grpc_pass "+strings.ToLower(s.protocol)+"://"+l.upstream+";")
	}
	scheme := map[string]string{"HTTPS": "https", "AUTO_HTTP": "$scheme"}[s.protocol]
	return append(append(lines, headers...), "proxy_pass "+cmp.Or(scheme, "http")+"://"+l.upstream+";")
}
