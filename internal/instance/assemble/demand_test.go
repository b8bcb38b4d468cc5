package assemble

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/test/golden"
)

func TestDemand(t *testing.T) {
	tests := map[string]struct {
		user map[string]string
		want Demand
	}{
		"nothing said":  {map[string]string{"a.conf": ""}, Demand{Workers: 3, Connections: 1024}},
		"nginx's own":   {map[string]string{"nginx.conf": "events {}"}, Demand{Workers: 3, Connections: 512}},
		"workers":       {map[string]string{"w.main.conf": "\nworker_processes 8;"}, Demand{Workers: 8, Connections: 1024, File: "w.main.conf", Line: 2, Directive: "worker_processes 8"}},
		"few workers":   {map[string]string{"w.main.conf": "worker_processes 1;"}, Demand{Workers: 1, Connections: 1024}},
		"connections":   {map[string]string{"nginx.conf": "events {\n worker_connections 9000; }"}, Demand{Workers: 3, Connections: 9000, File: "nginx.conf", Line: 2, Directive: "worker_connections 9000"}},
		"pools":         {map[string]string{"nginx.conf": "events {}\nthread_pool a threads=100 max_queue=5;\nthread_pool b;"}, Demand{Workers: 3, Connections: 512, Threads: 132, File: "nginx.conf", Line: 3, Directive: "thread_pool b"}},
		"no number":     {map[string]string{"nginx.conf": "events { worker_connections many; }\nthread_pool a threads=x;"}, Demand{Workers: 3, Connections: 512, File: "nginx.conf", Line: 2, Directive: "thread_pool a threads=x"}},
		"in an include": {map[string]string{"nginx.conf": "include e.inc;", "e.inc": "events { worker_connections 5; }"}, Demand{Workers: 3, Connections: 5, File: "e.inc", Line: 1, Directive: "worker_connections 5"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Files(tt.user, settings).Demand); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDryRun: the configuration of a second nginx has one worker and its own sockets.
func TestDryRun(t *testing.T) {
	dry := settings
	dry.DryRun = true
	user := map[string]string{"nginx.conf": `worker_processes 8;
pid /run/nginx.pid;
events {}
http {
    server {
        listen 80;
        listen unix:/run/a.sock
            backlog=8;
    }
    server { listen unix:/run/a.sock default_server; }
}
`}
	got := Files(user, dry)
	sameLines(t, user, got.Files)
	var text strings.Builder
	for _, file := range []string{MainFile, httpFile, "nginx.conf"} {
		text.WriteString("=== " + file + "\n" + got.Files[file])
	}
	golden.Compare(t, filepath.Join("testdata", "dry-run.txt"), text.String())
	for _, path := range []string{"/run/nginx-operator/nginx.pid", "/run/nginx-operator/status.sock", "/run/a.sock"} {
		if strings.Contains(text.String(), path+";") {
			t.Errorf("it uses %s, as the nginx that serves does", path)
		}
	}
}
