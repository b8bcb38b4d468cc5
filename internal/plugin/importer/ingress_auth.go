package importer

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// authType requires a password from a file of a Secret.
func authType(a *annotationReader, value string) (Outcome, string) {
	s := a.settings
	secret := s.values["auth-secret"]
	switch {
	case value != "basic":
		return NotCarried, "nginx has basic authentication only"
	case secret == "":
		return NotCarried, "it has no effect without auth-secret"
	case s.values["auth-secret-type"] == "auth-map":
		return NotCarried, "nginx reads one file with all users: make a Secret with a key auth in the format of htpasswd"
	}
	namespace, name, found := strings.Cut(secret, "/")
	if !found {
		name = namespace
	} else if !a.ownNamespace(namespace) {
		return NotCarried, otherNamespace
	}
	if !oneWord.MatchString(name) {
		return NotCarried, "auth-secret is not the name of a Secret"
	}
	a.importer.secrets[name] = true
	realm := s.values["auth-realm"]
	if realm == "off" || strings.Contains(realm, "$") {
		return NotCarried, "nginx reads auth-realm as off, or as a variable: choose another one"
	}
	realm = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(realm)
	s.location = append(s.location, fmt.Sprintf("auth_basic \"%s\";", realm), fmt.Sprintf("auth_basic_user_file %s/%s/auth;", secretDir, name), `proxy_set_header Authorization "";`)
	return Changed, "auth_basic, with the file of the Secret " + name
}

const otherNamespace = "the Secret is in another namespace: copy it into that of the application"

// ownNamespace reports whether a namespace is that of the Ingress.
func (a *annotationReader) ownNamespace(name string) bool {
	return name == cmp.Or(a.importer.namespace, "default")
}

var (
	method     = regexp.MustCompile(`^[A-Z]+$`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
)

// authURL lets another service decide about each request.
func authURL(a *annotationReader, value string) (Outcome, string) {
	s := a.settings
	parsed, err := url.Parse(value)
	if err != nil || parsed.Host == "" || !oneWord.MatchString(value) {
		return NotCarried, "the value is not a URL"
	}
	if why := s.invalidAuth(); why != "" {
		return NotCarried, why
	}
	location := "/_auth_" + s.id
	s.location = append(s.location, "auth_request "+location+";")
	for name := range strings.SplitSeq(s.values["auth-response-headers"], ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !headerName.MatchString(name) {
			return NotCarried, "auth-response-headers is not a list of names"
		}
		variable := "auth_" + strings.ToLower(strings.ReplaceAll(name, "-", "_"))
		s.location = append(s.location, fmt.Sprintf("auth_request_set $%s $upstream_http_%s;", variable, strings.TrimPrefix(variable, "auth_")))
		s.proxyHeaders = append(s.proxyHeaders, fmt.Sprintf("proxy_set_header %s $%s;", name, variable))
	}
	note, err := s.signIn()
	if err != nil {
		return NotCarried, err.Error()
	}
	s.internal = append(s.internal, authLocation(s, location, value, parsed.Host))
	return Changed, "auth_request " + location + note
}

// invalidAuth returns why a part of auth-url is not valid, or "".
func (s *settings) invalidAuth() string {
	if m := s.values["auth-method"]; m != "" && !method.MatchString(m) {
		return "auth-method is not a method"
	}
	if s.unknownAuthSnippet {
		return "auth-snippet: " + snippetUnknown
	}
	if bad := syntax.Check(s.values["auth-snippet"]); bad != nil {
		return "auth-snippet: " + bad.Error()
	}
	if to := s.values["auth-request-redirect"]; to != "" && !oneWord.MatchString(to) {
		return "auth-request-redirect is not a URL"
	}
	return ""
}

// signIn redirects to the page for signing in.
func (s *settings) signIn() (string, error) {
	page := s.values["auth-signin"]
	if page == "" {
		return "", nil
	}
	if !oneWord.MatchString(page) {
		return "", fmt.Errorf("auth-signin is not a URL")
	}
	if !strings.Contains(page, "rd=") {
		separator := "?"
		if strings.Contains(page, "?") {
			separator = "&"
		}
		page += separator + cmp.Or(s.values["auth-signin-redirect-param"], "rd") + "=$scheme://$http_host$request_uri"
	}
	page = strings.ReplaceAll(page, "$escaped_request_uri", "$request_uri")
	name := "@signin_" + s.id
	s.location = append(s.location, "error_page 401 = "+name+";")
	s.internal = append(s.internal, "location "+name+" {\n    internal;\n    return 302 "+page+";\n}")
	return "; nginx does not escape the address in the redirect", nil
}

// authLocation returns the location that asks the service.
func authLocation(s *settings, location, address, host string) string {
	lines := []string{
		"location = " + location + " {", "    internal;", "    proxy_pass_request_body off;", `    proxy_set_header Content-Length "";`,
		"    proxy_set_header Host " + host + ";", "    proxy_set_header X-Original-URL $scheme://$http_host$request_uri;",
		"    proxy_set_header X-Original-Method $request_method;", "    proxy_set_header X-Real-IP $remote_addr;", "    proxy_set_header X-Forwarded-For $remote_addr;",
		"    proxy_set_header X-Auth-Request-Redirect " + cmp.Or(s.values["auth-request-redirect"], "$request_uri") + ";",
	}
	if m := s.values["auth-method"]; m != "" {
		lines = append(lines, "    proxy_method "+m+";")
	}
	if strings.HasPrefix(address, "https:") {
		lines = append(lines, "    proxy_ssl_server_name on;")
	}
	if text := s.values["auth-snippet"]; text != "" {
		lines = append(lines, "    "+strings.ReplaceAll(text, "\n", "\n    "))
	}
	return strings.Join(append(lines, "    proxy_pass "+address+";", "}"), "\n")
}

// authTLS requires certificates of clients.
func authTLS(a *annotationReader, value string) (Outcome, string) {
	s := a.settings
	namespace, name, found := strings.Cut(value, "/")
	verify, depth := cmp.Or(s.values["auth-tls-verify-client"], "on"), cmp.Or(s.values["auth-tls-verify-depth"], "1")
	switch {
	case !found:
		return NotCarried, "ingress-nginx refuses a Secret without its namespace: write NAMESPACE/NAME"
	case !a.ownNamespace(namespace):
		return NotCarried, otherNamespace
	case !oneWord.MatchString(name) || !regexp.MustCompile(`^(on|off|optional|optional_no_ca)$`).MatchString(verify) || !number.MatchString(depth):
		return NotCarried, "auth-tls-secret, auth-tls-verify-client or auth-tls-verify-depth has a value that nginx does not accept"
	}
	a.importer.secrets[name] = true
	s.clientCertificate = []string{fmt.Sprintf("ssl_client_certificate %s/%s/ca.crt;", secretDir, name), "ssl_verify_client " + verify + ";", "ssl_verify_depth " + depth + ";"}
	if subject := s.values["auth-tls-match-cn"]; subject != "" {
		pattern := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(subject)
		s.clientCertificate = append(s.clientCertificate, "if ($ssl_client_s_dn !~ \""+pattern+"\") { return 403; }")
	}
	if isTrue(s.values["auth-tls-pass-certificate-to-upstream"]) {
		s.certificateHeaders = append(s.certificateHeaders, "proxy_set_header ssl-client-cert $ssl_client_escaped_cert;")
	}
	s.certificateHeaders = append(s.certificateHeaders, "proxy_set_header ssl-client-verify $ssl_client_verify;", "proxy_set_header ssl-client-subject-dn $ssl_client_s_dn;", "proxy_set_header ssl-client-issuer-dn $ssl_client_i_dn;")
	return Changed, "ssl_verify_client, with the file ca.crt of the Secret " + name
}
