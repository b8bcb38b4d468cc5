//go:build instance

package instance_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

const smallMemory = 64 << 20

// whole returns an nginx.conf that serves requests and has additional lines at the top level.
func whole(lines string) map[string]string {
	if !strings.Contains(lines, "events") {
		lines += "\nevents {}"
	}
	return map[string]string{"nginx.conf": lines + "\nhttp { server { listen 80; location / { return 200 \"hurt\"; } } }"}
}

// withLongValue returns an nginx.conf that refers to a long value of a variable, a number of times.
func withLongValue(references int) map[string]string {
	files := whole("\n# " + strings.Repeat("${LONG}", references))
	files[instanceapi.FileVariables] = `{"variables":[{"name":"LONG","value":"` + strings.Repeat("x", 4096) + `"}]}`
	return files
}

// TestHurtful: a configuration that nginx -t accepts, but that would end the container or leave it
// without workers that respond, is rejected before it reaches the running nginx.
func TestHurtful(t *testing.T) {
	hurtful := map[string]struct {
		files   map[string]string
		line    int
		message string
	}{
		"workers":                    {whole("worker_processes 400;"), 1, "worker_processes 400: out of memory: 400 worker processes need about"},
		"no workers":                 {whole("\nworker_processes 0;"), 2, "nginx would start no worker process"},
		"connections":                {whole("events {\nworker_connections 200000; }"), 2, "worker_connections 200000: out of memory"},
		"many connections":           {whole("events { worker_connections 10000000; }"), 1, "worker_connections 10000000: out of memory"},
		"threads":                    {whole("thread_pool default threads=20000;"), 1, "out of memory"},
		"some threads":               {whole("thread_pool default threads=1200;"), 1, "thread_pool default threads=1200: out of memory"},
		"descriptors":                {whole("worker_rlimit_nofile 3;"), 0, "out of file descriptors"},
		"a folder that is not there": {whole("working_directory /none;"), 0, "/none"},
		"connections for sockets":    {whole("events { worker_connections 2; }"), 0, "worker_connections"},
		"connections for answers":    {whole("events { worker_connections 3; }"), 0, "3 worker_connections are not enough"},
		"connections for clients":    {whole("events { worker_connections 9; }"), 0, "worker_connections is 9, and the sockets that each worker process listens on take "},
		"connections for ports":      {whole("events { worker_connections 512; }\nstream { server { listen 10000-10505; return ok; } }"), 0, "worker_connections is 512, and the sockets"},
		"values of variables":        {withLongValue(50_000), 2, "at most 900 KiB are allowed: ${LONG} stands for 4096 bytes in 50000 places"},
		"descriptors for clients":    {whole("worker_rlimit_nofile 16;"), 0, "out of file descriptors: each worker process may open 16 files"},
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("good"))
		p.memory = smallMemory
		p.start(image, http80)
		good := p.ready().Serving
		clients := p.load(2)
		for name, tt := range hurtful {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				revision := p.roll(tt.files)
				found := p.outcome(revision, func(r instanceapi.Revision) bool { return len(r.Problems) > 0 })
				if found.Test != instanceapi.Failed || found.Problems[0].Line != tt.line || !strings.Contains(found.Problems[0].Message, tt.message) {
					t.Errorf("%+v", found)
				}
			})
		}
		clients.stop()
		clients.check(t)
		if status := p.ready(); status.Serving != good || status.Reloads.Succeeded > 0 {
			t.Errorf("status %+v", status)
		}
		// A configuration that fits is loaded as usual.
		p.serves(p.roll(whole("worker_processes 4;\nthread_pool default threads=16;")))
		p.body(80, "hurt")
	})
}

// TestObsoleteDryRun: an order for another configuration does not wait for a test that hangs.
func TestObsoleteDryRun(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one"))
		dir := p.replaceNginx(`if [ -e /srv/before/hang ]; then case "$*" in *--1*) touch /run/hangs; exec sleep 1h ;; esac; fi`)
		p.start(image, http80)
		p.ready()
		must(t, os.WriteFile(filepath.Join(dir, "hang"), nil, 0o644))
		p.next(site("hangs"))
		p.eventually("the dry run hangs", func() error {
			_, err := os.Stat(filepath.Join(scratchOf(p.dir, "/run"), "hangs"))
			return err
		})
		must(t, os.Remove(filepath.Join(dir, "hang")))
		p.serves(p.roll(site("two")))
		p.body(80, "two")
		if strings.Contains(p.output.String(), "did not confirm") {
			t.Error("the test of the obsolete configuration ran until its limit")
		}
	})
}

// TestDryRunLeavesNothing: the sockets, folders and processes of a dry run are removed with it, and
// the running nginx keeps its ports.
func TestDryRunLeavesNothing(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := site("one")
		files["unix.conf"] = "server { listen unix:/run/user.sock; return 200 \"user\"; }"
		p := newPod(t, files).start(image, http80)
		p.ready()
		files["site.conf"] = site("two")["site.conf"]
		p.outcome(p.next(files), passed)
		p.body(80, "one")
		for _, pattern := range []string{"nginx-operator/dry-run/*", "nginx-operator/revisions/*--1"} {
			if left, err := filepath.Glob(filepath.Join(scratchOf(p.dir, "/run"), pattern)); err != nil || len(left) > 0 {
				t.Errorf("%v is left (%v)", left, err)
			}
		}
		if _, err := os.Stat(filepath.Join(scratchOf(p.dir, "/run"), "user.sock")); err != nil {
			t.Errorf("the user's socket: %v", err)
		}
		p.serves(p.roll(files))
		p.body(80, "two")
	})
}

// TestCrashAfterTheLoad: workers that crash after they have responded interrupt the requests of one
// pod for a moment, and never affect a second pod.
func TestCrashAfterTheLoad(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("good")).start(image, http80)
		good := p.ready().Serving
		bad := p.roll(site("bad"))
		p.serves(bad)
		must(t, syscall.Kill(p.container.Worker(), syscall.SIGSEGV))
		found := p.outcome(bad, func(r instanceapi.Revision) bool { return r.Load == instanceapi.Failed })
		if !found.Fatal || len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Message, "a worker process crashed (signal 11)") {
			t.Errorf("%+v", found)
		}
		p.serves(good)
		p.body(80, "good")
	})
}

// TestOldWorkerCrashes: if a worker of the previous configuration crashes while it finishes a
// request, the new configuration is not blamed.
func TestOldWorkerCrashes(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		slow := func(text string) map[string]string {
			return map[string]string{"one.main.conf": "worker_processes 1;", "site.conf": "server { listen 80; location / { return 200 " + text + "; } location /slow { alias /usr/sbin/; limit_rate 1k; } }"}
		}
		p := newPod(t, slow("good")).start(image, http80)
		p.ready()
		old := p.container.Worker()
		patient := &http.Client{Transport: p.client.Transport, Timeout: patience}
		answer, err := patient.Get("http://127.0.0.1:80/slow/nginx")
		must(t, err)
		defer func() { _ = answer.Body.Close() }()
		better := p.roll(slow("better"))
		p.serves(better)
		must(t, syscall.Kill(old, syscall.SIGSEGV))
		p.until("its probation is over", func(s instanceapi.Status) bool { return s.ServingSeconds != nil && *s.ServingSeconds > 5 })
		p.serves(better)
		p.body(80, "better")
	})
}

// TestContainerEndsInALoad: the next container does not load the configuration that ended the
// previous container.
func TestContainerEndsInALoad(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		bad := site("bad")
		p := newPod(t, site("good"))
		p.memory = smallMemory
		dir := filepath.Join(scratchOf(p.dir, "/run"), "nginx-operator")
		must(t, os.MkdirAll(dir, 0o777))
		must(t, os.Chmod(dir, 0o777))
		must(t, os.WriteFile(filepath.Join(dir, "loads.json"), []byte(`{"loading":{"revision":"`+nginxconf.Revision(bad)+`","memoryShort":true}}`), 0o666))
		p.mount(instanceapi.DirNext, bad)
		p.start(image, http80)
		p.order(nginxconf.Revision(bad), nginxconf.Revision(bad), nil)
		good := p.ready().Serving
		found := p.outcome(nginxconf.Revision(bad), func(r instanceapi.Revision) bool { return r.Load == instanceapi.Failed })
		if !found.Fatal || len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Message, "out of memory: the container ended while nginx loaded the configuration") {
			t.Errorf("%+v", found)
		}
		if status := p.ready(); status.Serving != good {
			t.Errorf("status %+v", status)
		}
		// The failure is forgotten when no load is requested any more. The next request starts
		// over.
		p.order("", "", nil)
		p.outcome(nginxconf.Revision(bad), func(r instanceapi.Revision) bool { return r.Load == "" && !r.Fatal })
	})
}
