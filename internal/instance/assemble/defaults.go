package assemble

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/syntax"
)

// maxKeepaliveMin bounds how long an exiting worker keeps idle connections open.
const maxKeepaliveMin = 5 * time.Second

// unsetOf returns the statements whose directives the user does not set at this level. nginx refuses a directive that is
// set twice as a duplicate.
func (l level) unsetOf(statements ...string) []string {
	return slices.DeleteFunc(statements, func(s string) bool { return l.has(strings.Fields(s)[0]) })
}

func mainDefaults(l layout, f *findings, s Settings) []string {
	workers := s.Workers
	if s.DryRun {
		workers = 1
	}
	defaults := f.main.unsetOf(
		fmt.Sprintf("worker_processes %d", workers),
		fmt.Sprintf("worker_shutdown_timeout %dms", s.DrainTimeout.Milliseconds()),
	)
	// The instance reads the reason of a failed reload from stderr, even if the user logs elsewhere.
	if f.main.has("error_log") {
		defaults = append(defaults, "error_log stderr alert")
	} else {
		defaults = append(defaults, "error_log stderr notice")
	}
	defaults = append(defaults, f.modules(l, s.Image)...)
	return defaults
}

// ProxyTempDir is the default of proxy_temp_path.
const ProxyTempDir = "/tmp/proxy"

// httpDefaults returns the statements that every http context gets unless the user sets them. A configuration without
// an nginx.conf also gets the statements that most images have in theirs.
func httpDefaults(l layout, f *findings, s Settings) []string {
	statements := []string{
		"access_log /dev/stdout combined",
		// The root file system is read-only, so temporary files go to the scratch volume.
		"client_body_temp_path /tmp/client_body",
		"proxy_temp_path " + ProxyTempDir,
		"fastcgi_temp_path /tmp/fastcgi",
		"uwsgi_temp_path /tmp/uwsgi",
		"scgi_temp_path /tmp/scgi",
	}
	if f.resolves && len(s.NameServers) > 0 {
		statements = append(statements, resolver(s.NameServers))
	}
	switch {
	case s.KeepaliveMinTimeout:
		statements = append(statements, fmt.Sprintf("keepalive_min_timeout %dms", keepaliveMin(f, s).Milliseconds()))
	case s.KeepaliveTime && s.DrainDelay > 0:
		statements = append(statements, fmt.Sprintf("keepalive_time %dms", keepaliveTime(s).Milliseconds()))
	}
	if l.whole {
		return f.httpLevel.unsetOf(statements...)
	}
	statements = append(statements,
		"default_type application/octet-stream",
		"sendfile on",
		"tcp_nopush on",
		"server_tokens off",
		"keepalive_timeout 65s",
	)
	statements = f.httpLevel.unsetOf(statements...)
	if s.Image.MimeTypes != "" && !f.httpLevel.has("types") && !slices.ContainsFunc(f.httpLevel["include"], namesTypes) {
		statements = append([]string{"include " + s.Image.MimeTypes}, statements...)
	}
	return statements
}

func namesTypes(v syntax.Visit) bool {
	return len(v.Args) == 1 && path.Base(v.Args[0]) == "mime.types"
}

// keepaliveMin returns a time shorter than worker_shutdown_timeout, which closes the remaining connections.
func keepaliveMin(f *findings, s Settings) time.Duration {
	limit := s.DrainTimeout
	if own, ok := parseTime(f.main.last("worker_shutdown_timeout")); ok && own > 0 {
		limit = min(limit, own)
	}
	return min(maxKeepaliveMin, limit/2)
}

// keepaliveTime makes nginx close every connection in use before it exits, because a client may be about to send a
// request on a connection that an exiting nginx closes. It is half of the drain delay: the other half is for endpoints
// that are removed late and for clients that send their next request late.
func keepaliveTime(s Settings) time.Duration { return max(s.DrainDelay/2, time.Millisecond) }
