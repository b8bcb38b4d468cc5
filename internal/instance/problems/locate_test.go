package problems

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestLocate: problems that nginx 1.22 to 1.30 finds at the end of a block, and reports with its
// last line, get the position of a directive.
func TestLocate(t *testing.T) {
	const ownFile = "nginx-operator.conf"
	generated := func(file string) bool { return file == ownFile }
	whole := "events {}\nhttp {\n  server { listen 80; large_client_header_buffers 4 8k; }\n  connection_pool_size 512m;\n}\n"
	const pool = `the "large_client_header_buffers" size must be equal to or greater than "connection_pool_size"`
	tests := map[string]struct {
		files map[string]string
		at    instanceapi.Problem
		file  string
		line  int
	}{
		"connection_pool_size": {map[string]string{"a.conf": "connection_pool_size 512m;\nserver { listen 80; }\n", ownFile: "http {\n}\n"},
			instanceapi.Problem{File: ownFile, Line: 2, Message: pool}, "a.conf", 1},
		"proxy_busy_buffers_size": {map[string]string{"a.conf": "server {\n  proxy_busy_buffers_size 1m;\n}\n", ownFile: "http {\n}\n"},
			instanceapi.Problem{File: ownFile, Line: 2, Message: `"proxy_busy_buffers_size" must be less than the size of all "proxy_buffers" minus one buffer`}, "a.conf", 2},
		"without quotes": {map[string]string{"a.conf": "server {\n  ssl_verify_client on;\n}\n", ownFile: "http {\n}\n"},
			instanceapi.Problem{File: ownFile, Line: 2, Message: "no ssl_client_certificate for ssl_verify_client"}, "a.conf", 2},
		"in a whole nginx.conf, the only one": {map[string]string{"nginx.conf": whole},
			instanceapi.Problem{File: "nginx.conf", Line: 5, Message: pool}, "nginx.conf", 3},
		"at a directive": {map[string]string{"nginx.conf": whole},
			instanceapi.Problem{File: "nginx.conf", Line: 4, Message: pool}, "nginx.conf", 4},
		"nothing of the user's": {map[string]string{"a.conf": "server { listen 80; }\n", ownFile: "http {\n}\n"},
			instanceapi.Problem{File: ownFile, Line: 2, Message: pool}, ownFile, 2},
		"a file of the image": {map[string]string{"a.conf": "connection_pool_size 1k;"},
			instanceapi.Problem{File: "/etc/nginx/conf.d/a.conf", Line: 2, Message: pool}, "/etc/nginx/conf.d/a.conf", 2},
		"in many places of the user's": {map[string]string{"nginx.conf": "http {\n  server { connection_pool_size 1k; }\n  server { connection_pool_size 2k; }\n}\n"},
			instanceapi.Problem{File: "nginx.conf", Line: 4, Message: pool}, "nginx.conf", 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := instanceapi.Problem{File: tt.file, Line: tt.line, Message: tt.at.Message}
			if diff := cmp.Diff([]instanceapi.Problem{want}, Locate([]instanceapi.Problem{tt.at}, tt.files, generated)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestIgnoredIsNoRefusal: nginx accepts a configuration with another lock_file.
func TestIgnoredIsNoRefusal(t *testing.T) {
	const text = `2026/11/21 05:00:00 [emerg] 7#7: "lock_file" could not be changed, ignored`
	line, ok := ParseLine(text)
	if !ok || !line.Ignored() {
		t.Errorf("line %+v", line)
	}
	if found := reader().Problems(text + "\n"); len(found) > 0 {
		t.Errorf("problems: %v", found)
	}
}
