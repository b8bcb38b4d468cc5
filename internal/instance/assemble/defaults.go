package assemble

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/syntax"
)

// maxKeepaliveMin bounds how long an exiting worker keeps idle connections.
const maxKeepaliveMin = 5 * time.Second

// modules is where Debian's packages enable their modules; other images have no such
// folder.
const modules = "/etc/nginx/modules-enabled/*.conf"

// orElse are the statements whose directives the user does not set at the level, where
// nginx would call a second one a duplicate.
func (l level) orElse(statements ...string) []string {
	return slices.DeleteFunc(statements, func(s string) bool { return l.has(strings.Fields(s)[0]) })
}

func mainDefaults(l layout, f *findings, s Settings) []string {
	workers := s.Workers
	if s.DryRun {
		workers = 1
	}
	defaults := f.main.orElse(
		fmt.Sprintf("worker_processes %d", workers),
		fmt.Sprintf("worker_shutdown_timeout %dms", s.DrainTimeout.Milliseconds()),
	)
	// Why a reload failed has to be seen here, whatever log the user wants.
	if f.main.has("error_log") {
		defaults = append(defaults, "error_log stderr alert")
	} else {
		defaults = append(defaults, "error_log stderr notice")
	}
	own := slices.ContainsFunc(f.main["include"], func(v syntax.Visit) bool {
		return len(v.Args) == 1 && path.Dir(v.Args[0]) == path.Dir(modules)
	})
	// A module cannot be loaded twice.
	if !own && (!l.whole || !f.main.has("load_module")) {
		defaults = append(defaults, "include "+modules)
	}
	return defaults
}

// httpDefaults are what every http context gets unless the user says otherwise. A
// configuration that is not whole gets what nginx.conf has in most images, too.
func httpDefaults(l layout, f *findings, s Settings) []string {
	statements := []string{
		"access_log /dev/stdout combined",
		// Folders on scratch space: the others cannot be written to.
		"client_body_temp_path /tmp/client_body",
		"proxy_temp_path /tmp/proxy",
		"fastcgi_temp_path /tmp/fastcgi",
		"uwsgi_temp_path /tmp/uwsgi",
		"scgi_temp_path /tmp/scgi",
	}
	switch {
	case s.KeepaliveMinTimeout:
		statements = append(statements, fmt.Sprintf("keepalive_min_timeout %dms", keepaliveMin(f, s).Milliseconds()))
	case s.KeepaliveTime && s.DrainDelay > 0:
		statements = append(statements, fmt.Sprintf("keepalive_time %dms", keepaliveTime(s).Milliseconds()))
	}
	if l.whole {
		return f.httpLevel.orElse(statements...)
	}
	statements = append(statements,
		"default_type application/octet-stream",
		"sendfile on",
		"tcp_nopush on",
		"server_tokens off",
		"keepalive_timeout 65s",
	)
	statements = f.httpLevel.orElse(statements...)
	if !f.httpLevel.has("types") && !slices.ContainsFunc(f.httpLevel["include"], namesTypes) {
		statements = append([]string{"include /etc/nginx/mime.types"}, statements...)
	}
	return statements
}

func namesTypes(v syntax.Visit) bool {
	return len(v.Args) == 1 && path.Base(v.Args[0]) == "mime.types"
}

// keepaliveMin is shorter than worker_shutdown_timeout, which cuts what is left.
func keepaliveMin(f *findings, s Settings) time.Duration {
	limit := s.DrainTimeout
	if own, ok := parseTime(f.main.last("worker_shutdown_timeout")); ok && own > 0 {
		limit = min(limit, own)
	}
	return min(maxKeepaliveMin, limit/2)
}

// keepaliveTime ends every connection that is in use before nginx itself has to end: what an
// old nginx closes then, a client may be about to use. Half of the delay is for endpoints
// that are slow to forget the pod, and for clients that are slow to ask.
func keepaliveTime(s Settings) time.Duration { return max(s.DrainDelay/2, time.Millisecond) }
