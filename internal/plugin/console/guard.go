package console

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// policy lets the page load only what this server serves, run no inline script, and be in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// guard refuses requests that do not come from the page itself. A name of another site that resolves to this address (DNS
// rebinding) has another Host; a page of another site has another Origin. There is no CORS header, so no other page can
// read an answer.
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !accepted(hosts, r.Host):
			answer(w, http.StatusMisdirectedRequest, failure{Message: "the request is for another host than this console"})
		case !sameOrigin(r):
			answer(w, http.StatusForbidden, failure{Message: "the request comes from a page of another site"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// accepted reports whether a host is one of those that are accepted.
func accepted(hosts []string, host string) bool {
	if len(hosts) == 0 || slices.Contains(hosts, host) {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		return slices.Contains(hosts, name)
	}
	return slices.Contains(hosts, strings.Trim(host, "[]"))
}

// sameOrigin reports whether a request comes from a page of this server, or from no page.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		// A link of another site may open the page, which holds no data.
		return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Host == r.Host && possibleScheme(r, u.Scheme)
}

// possibleScheme reports whether the page may have been loaded by a scheme. Without TLS, a proxy may have ended it.
func possibleScheme(r *http.Request, scheme string) bool {
	return scheme == "https" || scheme == "http" && r.TLS == nil
}
