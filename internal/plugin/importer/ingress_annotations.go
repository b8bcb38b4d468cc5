package importer

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// annotations are those that are more than one directive, by their name without the prefix. It is set in init, because the
// functions use it.
var annotations map[string]func(a *annotationReader, value string) (Outcome, string)

func init() {
	annotations = map[string]func(*annotationReader, string) (Outcome, string){
		"rewrite-target":     rewriteTarget,
		"use-regex":          flag(func(s *settings, on bool) { s.useRegex = on }),
		"ssl-redirect":       flag(func(s *settings, on bool) { s.sslRedirect = on }),
		"force-ssl-redirect": flag(func(s *settings, on bool) { s.forceSSLRedirect = on }),
		"enable-access-log":  flag(func(s *settings, on bool) { s.accessLogOff = !on }),
		"preserve-trailing-slash": func(*annotationReader, string) (Outcome, string) {
			return Carried, "a redirect to HTTPS keeps the path as it is"
		},
		"service-upstream":        func(*annotationReader, string) (Outcome, string) { return Carried, "requests always go to the Service" },
		"canary":                  canary,
		"app-root":                appRoot,
		"permanent-redirect":      redirect("permanent-redirect-code", "301"),
		"temporal-redirect":       redirect("temporal-redirect-code", "302"),
		"backend-protocol":        backendProtocol,
		"upstream-vhost":          word(func(s *settings, value string) { s.host = value }, "proxy_set_header Host"),
		"x-forwarded-prefix":      forwardedPrefix,
		"connection-proxy-header": word(func(s *settings, value string) { s.connection = value }, "proxy_set_header Connection"),
		"server-alias":            serverAlias,
		"from-to-www-redirect":    wwwRedirect,
		"whitelist-source-range":  sourceRange,
		"allowlist-source-range":  sourceRange,
		"denylist-source-range":   denied,
		"proxy-buffers-number":    proxyBuffers,
		"proxy-redirect-from":     proxyRedirect,
		"configuration-snippet":   snippet(func(s *settings, text string) { s.snippet = text }, "location"),
		"server-snippet":          snippet(func(s *settings, text string) { s.serverSnippet = text }, "server"),
		"stream-snippet":          streamSnippet,
		"enable-cors":             enableCORS,
		"auth-type":               authType,
		"auth-url":                authURL,
		"auth-tls-secret":         authTLS,
		"limit-rps":               limitRequests("r/s"),
		"limit-rpm":               limitRequests("r/m"),
		"limit-connections":       limitConnections,
		"enable-global-auth":      globalAuth,
		"enable-modsecurity":      unlessOff("enable-modsecurity"),
		"ssl-passthrough":         unlessOff("ssl-passthrough"),
	}
}

// mainOfPart are the annotations that use another one, by its name.
var mainOfPart = map[string][]string{
	"permanent-redirect-code": {"permanent-redirect"},
	"temporal-redirect-code":  {"temporal-redirect"},
	"proxy-redirect-to":       {"proxy-redirect-from"},
	"cors-allow-origin":       {"enable-cors"}, "cors-allow-methods": {"enable-cors"}, "cors-allow-headers": {"enable-cors"},
	"cors-allow-credentials": {"enable-cors"}, "cors-expose-headers": {"enable-cors"}, "cors-max-age": {"enable-cors"},
	"auth-secret": {"auth-type"}, "auth-secret-type": {"auth-type"}, "auth-realm": {"auth-type"},
	"auth-method": {"auth-url"}, "auth-signin": {"auth-url"}, "auth-signin-redirect-param": {"auth-url"}, "auth-response-headers": {"auth-url"},
	"auth-request-redirect": {"auth-url"}, "auth-snippet": {"auth-url"}, "auth-proxy-set-headers": {"auth-url"},
	"auth-tls-verify-client": {"auth-tls-secret"}, "auth-tls-verify-depth": {"auth-tls-secret"}, "auth-tls-pass-certificate-to-upstream": {"auth-tls-secret"},
	"auth-tls-match-cn":       {"auth-tls-secret"},
	"enable-owasp-core-rules": {"enable-modsecurity"}, "modsecurity-snippet": {"enable-modsecurity"}, "modsecurity-transaction-id": {"enable-modsecurity"},
	"limit-burst-multiplier": {"limit-rps", "limit-rpm"},
	"limit-whitelist":        {"limit-rps", "limit-rpm", "limit-connections"},
	"limit-allowlist":        {"limit-rps", "limit-rpm", "limit-connections"},
}

func flag(set func(*settings, bool)) func(*annotationReader, string) (Outcome, string) {
	return func(a *annotationReader, value string) (Outcome, string) {
		if !isTrue(value) && !isFalse(value) {
			return NotCarried, "the value is neither true nor false"
		}
		set(a.settings, isTrue(value))
		return Carried, ""
	}
}

func word(set func(*settings, string), means string) func(*annotationReader, string) (Outcome, string) {
	return func(a *annotationReader, value string) (Outcome, string) {
		if !oneWord.MatchString(value) {
			return NotCarried, "the value is not one word"
		}
		set(a.settings, value)
		return Changed, means + " " + value
	}
}

func rewriteTarget(a *annotationReader, value string) (Outcome, string) {
	if !oneWord.MatchString(value) {
		return NotCarried, "the value is not one word"
	}
	a.settings.rewriteTarget = value
	return Changed, "rewrite … " + value + " break"
}

// forwardedPrefix sets a header that ingress-nginx sends with rewrite-target only.
func forwardedPrefix(a *annotationReader, value string) (Outcome, string) {
	if a.settings.values["rewrite-target"] == "" {
		return NotCarried, "it has no effect without rewrite-target"
	}
	return word(func(s *settings, value string) { s.prefix = value }, "proxy_set_header X-Forwarded-Prefix")(a, value)
}

func canary(_ *annotationReader, value string) (Outcome, string) {
	if !isTrue(value) {
		return Carried, ""
	}
	return NotCarried, "use rollout.canary to compare versions of nginx, or split_clients in the configuration to divide requests"
}

func appRoot(a *annotationReader, value string) (Outcome, string) {
	if !oneWord.MatchString(value) || !strings.HasPrefix(value, "/") {
		return NotCarried, "the value is not a path"
	}
	a.settings.appRoot = value
	return Changed, "if ($uri = /) { return 302 $scheme://$http_host" + value + "; }"
}

func redirect(codeName, code string) func(*annotationReader, string) (Outcome, string) {
	return func(a *annotationReader, value string) (Outcome, string) {
		own, code := a.settings.values[codeName], code
		switch {
		case codeName == "permanent-redirect-code" && a.settings.values["temporal-redirect"] != "":
			return NotCarried, "temporal-redirect takes precedence"
		case !oneWord.MatchString(value):
			return NotCarried, "the value is not a URL"
		case own != "" && !regexp.MustCompile(`^30[0-8]$`).MatchString(own):
			return NotCarried, codeName + " is not the status of a redirect"
		case own != "":
			code = own
		}
		a.settings.redirect = fmt.Sprintf("return %s %s;", code, value)
		return Changed, strings.TrimSuffix(a.settings.redirect, ";")
	}
}

func backendProtocol(a *annotationReader, value string) (Outcome, string) {
	value = strings.ToUpper(value)
	switch value {
	case "HTTP", "HTTPS", "GRPC", "GRPCS", "FCGI":
		a.settings.protocol = value
		pass := map[string]string{"HTTP": "proxy_pass http://", "HTTPS": "proxy_pass https://", "GRPC": "grpc_pass grpc://", "GRPCS": "grpc_pass grpcs://", "FCGI": "fastcgi_pass"}
		return Changed, pass[value]
	case "AUTO_HTTP":
		a.settings.protocol = value
		return Changed, "proxy_pass $scheme://"
	}
	return NotCarried, "it is none of HTTP, HTTPS, AUTO_HTTP, GRPC, GRPCS and FCGI"
}

func serverAlias(a *annotationReader, value string) (Outcome, string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); !oneWord.MatchString(name) {
			return NotCarried, "the value is not a list of host names"
		}
		a.settings.aliases = append(a.settings.aliases, name)
	}
	return Changed, "server_name"
}

func wwwRedirect(a *annotationReader, value string) (Outcome, string) {
	if !isTrue(value) {
		return Carried, ""
	}
	a.settings.values["www"] = "true"
	return Changed, "a server for the other name redirects with status 308"
}

// sourceRange admits a list of networks only.
func sourceRange(a *annotationReader, value string) (Outcome, string) {
	if a.settings.values["allowlist-source-range"] != "" && a.settings.values["whitelist-source-range"] != "" {
		if value = a.settings.values["allowlist-source-range"]; len(a.settings.access) > 0 && slices.Contains(a.settings.access, "deny all;") {
			return Carried, "allowlist-source-range takes precedence"
		}
	}
	lines, ok := accessLines("allow", value)
	if !ok {
		return NotCarried, "the value is not a list of networks, so requests would be refused or admitted by mistake"
	}
	a.settings.access = append(append(a.settings.access, lines...), "deny all;")
	a.checkAddresses()
	return Changed, "allow"
}

// denied refuses a list of networks, also if another list admits them.
func denied(a *annotationReader, value string) (Outcome, string) {
	lines, ok := accessLines("deny", value)
	if !ok {
		return NotCarried, "the value is not a list of networks, so requests would be refused or admitted by mistake"
	}
	// nginx takes the first line that matches.
	a.settings.access = append(lines, a.settings.access...)
	a.checkAddresses()
	return Changed, "deny"
}

// accessLines returns a directive for each network of a list.
func accessLines(directive, list string) (lines []string, ok bool) {
	for network := range strings.SplitSeq(list, ",") {
		network = strings.TrimSpace(network)
		prefix, errPrefix := netip.ParsePrefix(network)
		address, errAddr := netip.ParseAddr(network)
		if errPrefix != nil && errAddr != nil || prefix.Addr().Zone() != "" || address.Zone() != "" {
			return nil, false
		}
		lines = append(lines, directive+" "+network+";")
	}
	return lines, true
}

func (a *annotationReader) checkAddresses() {
	a.importer.review.step("Let nginx see the addresses of clients, or allow and deny do not work: set service.externalTrafficPolicy: Local, or use real_ip_header.")
}

// unlessOff is for an annotation without a counterpart that has no effect if it is false.
func unlessOff(name string) func(*annotationReader, string) (Outcome, string) {
	return func(_ *annotationReader, value string) (Outcome, string) {
		if isFalse(value) {
			return Carried, ""
		}
		return NotCarried, unsupported[name]
	}
}

func proxyBuffers(a *annotationReader, value string) (Outcome, string) {
	each := a.settings.values["proxy-buffer-size"]
	if each == "" {
		each = "4k"
	}
	if !number.MatchString(value) || !size.MatchString(each) {
		return NotCarried, "the value is not a number"
	}
	statement := "proxy_buffers " + value + " " + each
	a.settings.location = append(a.settings.location, statement+";")
	return Changed, statement
}

func proxyRedirect(a *annotationReader, from string) (Outcome, string) {
	to := a.settings.values["proxy-redirect-to"]
	if from != "off" && from != "default" && (!oneWord.MatchString(from) || !oneWord.MatchString(to)) {
		return NotCarried, "proxy-redirect-from and proxy-redirect-to are not one word each"
	}
	statement := strings.TrimSpace("proxy_redirect " + from + " " + to)
	if from == "off" || from == "default" {
		statement = "proxy_redirect " + from
	}
	a.settings.location = append(a.settings.location, statement+";")
	return Changed, statement
}
