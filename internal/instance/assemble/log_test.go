package assemble

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLogs: every request is logged once for the request metrics, even where the user turned
// logging off, and all other logs stay. LOG stands for the log of the request metrics.
func TestLogs(t *testing.T) {
	tests := map[string]struct{ user, want map[string]string }{
		"beside one of the user's": {
			map[string]string{"a.conf": "server { access_log /a; }"},
			map[string]string{"a.conf": "server { access_log /a; LOG }"},
		},
		"off in a location": {
			map[string]string{"a.conf": "server { location / { access_log off; return 200; } }"},
			map[string]string{"a.conf": "server { location / { LOG return 200; } }"},
		},
		"off in an if and in a limit_except": {
			map[string]string{"a.conf": "server { location / { if ($x) { access_log \"off\"; } limit_except GET { access_log off; deny all; } } }"},
			map[string]string{"a.conf": "server { location / { if ($x) { LOG } limit_except GET { LOG deny all; } } }"},
		},
		"off at the http level, which has it": {
			map[string]string{"a.conf": "access_log off;\nserver { listen 80; }"},
			map[string]string{"a.conf": "\nserver { listen 80; }"},
		},
		"off in an http block of the user's": {
			map[string]string{"nginx.conf": "events {} http {access_log off;server { listen 80; }}"},
			map[string]string{"nginx.conf": "events {} http { include nginx-operator-http.conf;server { listen 80; }}"},
		},
		"off outweighs the others of its block": {
			map[string]string{"nginx.conf": "http{access_log /a;include b.inc;}", "b.inc": "access_log off;server { access_log /b; access_log off; access_log off; location / { access_log /c; } }"},
			map[string]string{"nginx.conf": "http{ include nginx-operator-http.conf;include b.inc;}", "b.inc": "server { LOG   location / { access_log /c; LOG } }"},
		},
		"over two lines": {
			map[string]string{"a.conf": "server { access_log\n off\n; listen 80; }"},
			map[string]string{"a.conf": "server { LOG\n\n listen 80; }"},
		},
		"off in a file that two locations include": {
			map[string]string{"a.conf": "server { location /a { include off.inc; } location /b { access_log off; include off.inc; } }", "off.inc": "access_log off;"},
			map[string]string{"a.conf": "server { location /a { include off.inc; } location /b {  include off.inc; } }", "off.inc": "LOG"},
		},
		"off in a file that the http level includes as well": {
			map[string]string{"a.conf": "include off.inc; server { include off.inc; }", "off.inc": "access_log off;"},
			map[string]string{"a.conf": "include off.inc; server { include off.inc; }", "off.inc": ""},
		},
		"off beside a log that is in use elsewhere": {
			map[string]string{"a.conf": "server { location /a { include log.inc; } location /b { include log.inc; access_log off; } }", "log.inc": "access_log /l;"},
			map[string]string{"a.conf": "server { location /a { include log.inc; } location /b { include log.inc; access_log off; } }", "log.inc": "access_log /l; LOG"},
		},
		"no directive": {
			map[string]string{"a.conf": "map $uri $x { access_log off; } server { listen 80; }", "tcp.stream.conf": "server { access_log off; }"},
			map[string]string{"a.conf": "map $uri $x { access_log off; } server { listen 80; }", "tcp.stream.conf": "server { access_log off; }"},
		},
		"what nginx refuses": {
			map[string]string{"a.conf": "server { access_log off { } listen 80; }"},
			map[string]string{"a.conf": "server { access_log off { } listen 80; }"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := Files(tt.user, settings).Files
			sameLines(t, tt.user, files)
			got := map[string]string{}
			for name := range tt.user {
				got[name] = strings.ReplaceAll(files[name], accessLog(settings)+";", "LOG")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if n := strings.Count(files[httpFile], accessLog(settings)); n != 1 {
				t.Errorf("the http level has the log %d times", n)
			}
		})
	}
}

// TestOffStaysWithoutRequestMetrics: without request metrics, the user's files are not changed.
func TestOffStaysWithoutRequestMetrics(t *testing.T) {
	off := settings
	off.RequestMetrics = false
	const site = "access_log off; server { location / { access_log off; } }"
	if diff := cmp.Diff(site, Files(map[string]string{"a.conf": site}, off).Files["a.conf"]); diff != "" {
		t.Error(diff)
	}
}
