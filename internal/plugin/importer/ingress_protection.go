package importer

import (
	"regexp"
	"strconv"
	"strings"
)

// protection is the scope in which an annotation keeps requests out.
type protection int

const (
	// protectsNothing keeps no request out.
	protectsNothing protection = iota
	// protectsPaths keeps requests from the paths of the Ingress.
	protectsPaths
	// protectsHosts keeps requests from all paths of the hosts of the Ingress, including those of other Ingress objects.
	protectsHosts
)

// protections lists every annotation of ingress-nginx without its prefix. If a protecting one is not carried over, what it
// protects answers 403.
var protections = map[string]protection{
	"affinity": protectsNothing, "affinity-canary-behavior": protectsNothing, "affinity-mode": protectsNothing, "app-root": protectsNothing,
	"allowlist-source-range": protectsPaths, "whitelist-source-range": protectsPaths, "denylist-source-range": protectsPaths,
	"auth-type": protectsPaths, "auth-secret": protectsPaths, "auth-secret-type": protectsPaths, "auth-realm": protectsPaths,
	"auth-url": protectsPaths, "auth-method": protectsPaths, "auth-snippet": protectsPaths, "auth-request-redirect": protectsPaths,
	"auth-response-headers": protectsPaths, "auth-proxy-set-headers": protectsPaths, "auth-signin": protectsPaths, "auth-signin-redirect-param": protectsPaths,
	"enable-global-auth": protectsPaths,
	// Without these, the authentication is asked more often, but its response counts the same.
	"auth-always-set-cookie": protectsNothing, "auth-cache-duration": protectsNothing, "auth-cache-key": protectsNothing, "auth-keepalive": protectsNothing,
	"auth-keepalive-requests": protectsNothing, "auth-keepalive-share-vars": protectsNothing, "auth-keepalive-timeout": protectsNothing,
	"auth-tls-secret": protectsHosts, "auth-tls-verify-client": protectsHosts, "auth-tls-verify-depth": protectsHosts, "auth-tls-match-cn": protectsHosts,
	"auth-tls-pass-certificate-to-upstream": protectsHosts,
	// nginx refuses the same requests, with its own page.
	"auth-tls-error-page": protectsNothing,
	"backend-protocol":    protectsNothing,
	"canary":              protectsNothing, "canary-by-cookie": protectsNothing, "canary-by-header": protectsNothing, "canary-by-header-pattern": protectsNothing,
	"canary-by-header-value": protectsNothing, "canary-weight": protectsNothing, "canary-weight-total": protectsNothing,
	"client-body-buffer-size": protectsNothing, "configuration-snippet": protectsPaths, "connection-proxy-header": protectsNothing,
	"cors-allow-credentials": protectsNothing, "cors-allow-headers": protectsNothing, "cors-allow-methods": protectsNothing, "cors-allow-origin": protectsNothing,
	"cors-expose-headers": protectsNothing, "cors-max-age": protectsNothing, "enable-cors": protectsNothing,
	"custom-headers": protectsNothing, "custom-http-errors": protectsNothing, "default-backend": protectsNothing, "disable-proxy-intercept-errors": protectsNothing,
	"enable-access-log": protectsNothing, "enable-influxdb": protectsNothing, "enable-opentelemetry": protectsNothing, "enable-opentracing": protectsNothing,
	"enable-rewrite-log": protectsNothing, "fastcgi-index": protectsNothing, "fastcgi-params-configmap": protectsNothing, "force-ssl-redirect": protectsNothing,
	"from-to-www-redirect": protectsNothing, "http2-push-preload": protectsNothing,
	"enable-modsecurity": protectsPaths, "enable-owasp-core-rules": protectsPaths, "modsecurity-snippet": protectsPaths, "modsecurity-transaction-id": protectsNothing,
	"limit-rps": protectsPaths, "limit-rpm": protectsPaths, "limit-connections": protectsPaths, "limit-burst-multiplier": protectsPaths,
	"limit-allowlist": protectsPaths, "limit-whitelist": protectsPaths, "global-rate-limit": protectsPaths,
	// A limit of the speed of responses keeps nobody out.
	"limit-rate": protectsNothing, "limit-rate-after": protectsNothing,
	"load-balance": protectsNothing, "mirror-host": protectsNothing, "mirror-request-body": protectsNothing, "mirror-target": protectsNothing,
	"opentelemetry-operation-name": protectsNothing, "opentelemetry-trust-incoming-span": protectsNothing,
	"permanent-redirect": protectsNothing, "permanent-redirect-code": protectsNothing, "preserve-trailing-slash": protectsNothing,
	"proxy-body-size": protectsNothing, "proxy-buffer-size": protectsNothing, "proxy-buffering": protectsNothing, "proxy-buffers-number": protectsNothing,
	"proxy-busy-buffers-size": protectsNothing, "proxy-connect-timeout": protectsNothing, "proxy-cookie-domain": protectsNothing, "proxy-cookie-path": protectsNothing,
	"proxy-http-version": protectsNothing, "proxy-max-temp-file-size": protectsNothing, "proxy-next-upstream": protectsNothing,
	"proxy-next-upstream-timeout": protectsNothing, "proxy-next-upstream-tries": protectsNothing, "proxy-read-timeout": protectsNothing,
	"proxy-redirect-from": protectsNothing, "proxy-redirect-to": protectsNothing, "proxy-request-buffering": protectsNothing, "proxy-send-timeout": protectsNothing,
	// These are about the connection to the backend.
	"proxy-ssl-ciphers": protectsNothing, "proxy-ssl-name": protectsNothing, "proxy-ssl-protocols": protectsNothing, "proxy-ssl-secret": protectsNothing,
	"proxy-ssl-server-name": protectsNothing, "proxy-ssl-verify": protectsNothing, "proxy-ssl-verify-depth": protectsNothing, "secure-backends": protectsNothing,
	"relative-redirects": protectsNothing, "rewrite-target": protectsNothing,
	// With satisfy any, one of several protections is enough. Without it, all count.
	"satisfy":      protectsNothing,
	"server-alias": protectsNothing, "server-snippet": protectsHosts, "service-upstream": protectsNothing,
	"session-cookie-change-on-failure": protectsNothing, "session-cookie-conditional-samesite-none": protectsNothing, "session-cookie-domain": protectsNothing,
	"session-cookie-expires": protectsNothing, "session-cookie-max-age": protectsNothing, "session-cookie-name": protectsNothing, "session-cookie-path": protectsNothing,
	"session-cookie-samesite": protectsNothing, "session-cookie-secure": protectsNothing,
	"ssl-ciphers": protectsNothing, "ssl-prefer-server-ciphers": protectsNothing, "ssl-redirect": protectsNothing,
	// The backend sees the client's connection itself, and may ask it for a certificate.
	"ssl-passthrough": protectsHosts,
	"stream-snippet":  protectsNothing, "temporal-redirect": protectsNothing, "temporal-redirect-code": protectsNothing,
	"upstream-hash-by": protectsNothing, "upstream-hash-by-subset": protectsNothing, "upstream-hash-by-subset-size": protectsNothing, "upstream-vhost": protectsNothing,
	"use-port-in-redirects": protectsNothing, "use-regex": protectsNothing, "x-forwarded-prefix": protectsNothing,
}

// soundsProtecting matches the names of annotations and settings that the import does not know and that could protect paths.
var soundsProtecting = regexp.MustCompile(`(?i)auth|allow|deny|block|(white|black)-?list|restrict|verif|waf|modsec|secur|limit|acl|jwt|oidc|saml|sso|mtls|client-?ca|password|` +
	`protect|policy|policies|middleware|snippet|geoip|country|captcha|bouncer|source-range`)

// harmlessPrefixes belong to annotations of tools that have no part in requests.
var harmlessPrefixes = []string{certManagerPrefix, "acme.cert-manager.io/", "external-dns.alpha.kubernetes.io/", "kubectl.kubernetes.io/", "meta.helm.sh/", "helm.sh/",
	"argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "field.cattle.io/", "app.kubernetes.io/", "checksum/"}

// protectionOf returns the scope that an annotation protects. One that the import does not know protects paths if its name says so.
func protectionOf(key, value string) protection {
	name, own := strings.CutPrefix(key, annotationPrefix)
	if known, ok := protections[name]; own && ok {
		return known
	}
	if key == classAnnotation || isFalse(value) || !soundsProtecting.MatchString(key) {
		return protectsNothing
	}
	for _, prefix := range harmlessPrefixes {
		if strings.HasPrefix(key, prefix) {
			return protectsNothing
		}
	}
	return protectsPaths
}

// isTrue reports whether a value switches an annotation on, in any of the forms that ingress-nginx accepts.
func isTrue(value string) bool {
	on, err := strconv.ParseBool(value)
	return err == nil && on
}

// isFalse reports whether a value switches an annotation off.
func isFalse(value string) bool {
	on, err := strconv.ParseBool(value)
	return err == nil && !on
}

// closure is a reason why paths answer 403.
type closure struct {
	// by is the Ingress or the object with the setting that is not carried over, and setting its name.
	by, setting string
}

// line is the line of the configuration that closes a path or a server. Deleting it opens them.
func (c closure) line() string { return "return 403; # closed: " + comment(c.by+": "+c.setting) }

var inComment = regexp.MustCompile(`[^-._/:, a-zA-Z0-9]+`)

// comment returns a text without characters that could end a comment.
func comment(text string) string { return inComment.ReplaceAllString(text, "-") }

func closedLines(w *writer, reasons []closure) {
	var lines []string
	for _, c := range reasons {
		lines = append(lines, c.line())
	}
	for _, line := range unique(lines) {
		w.line(line)
	}
}
