//go:build instance

package instance_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

func TestLoad(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		start := time.Now()
		revision := p.next(site("two"))
		p.outcome(revision, passed)
		p.body(80, "one")
		p.order(revision, revision, nil)
		status := p.serves(revision)
		t.Logf("tested and loaded in %s", time.Since(start).Round(time.Millisecond))
		p.body(80, "two")
		if status.Reloads.Succeeded != 1 || status.Reloads.Failed != 0 {
			t.Errorf("reloads %+v", status.Reloads)
		}
		// The rollback leads to a revision that is no longer mounted.
		p.mount(instanceapi.DirStable, site("two"))
		old := nginxconf.Revision(site("one"))
		p.order(revision, old, nil)
		p.serves(old)
		p.body(80, "one")
	})
}

// TestOrderBeforeItsFiles: an order without contents is refused until the kubelet has delivered the files.
func TestOrderBeforeItsFiles(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		revision := nginxconf.Revision(site("late"))
		p.refusesOrder("before the files", instanceapi.MissingFiles, p.signed(revision, revision, nil))
		p.mount(instanceapi.DirNext, site("late"))
		p.until("the files are delivered", func(s instanceapi.Status) bool { return s.HasFiles(revision) })
		p.order(revision, revision, nil)
		p.serves(revision)
	})
}

func TestNoReloadOnStableAlone(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		booted := p.ready().Serving
		other := nginxconf.Revision(site("two"))
		p.mount(instanceapi.DirStable, site("two"))
		status := p.until("the change is seen", func(s instanceapi.Status) bool { return s.Stable == other })
		if status.Serving != booted || status.Reloads.Succeeded != 0 {
			t.Errorf("status %+v", status)
		}
	})
}

// TestBadConfigurations: a configuration that nginx -t rejects, or should reject, fails its test.
func TestBadConfigurations(t *testing.T) {
	bad := map[string]struct {
		files   map[string]string
		file    string
		line    int
		message string
	}{
		"syntax":            {map[string]string{"a.conf": "server {\n listen 80\n}"}, "a.conf", 3, `unexpected "}"`},
		"unknown directive": {map[string]string{"a.conf": "server { listen 80; }\nlua_code on;"}, "a.conf", 2, `unknown directive "lua_code"`},
		"missing file":      {map[string]string{"a.conf": "server { listen 80;\n include gone.inc; }"}, "a.conf", 2, "No such file"},
		"declared port":     {map[string]string{"a.conf": "server { listen 8080; }"}, "", 0, "port http (80/TCP) is declared, but no server listens on it"},
		"own port":          {map[string]string{"a.conf": "server { listen 80;\n listen 9113; }"}, "a.conf", 2, "9113"},
		"daemon on":         {map[string]string{"a.main.conf": "\ndaemon on;", "b.conf": "server { listen 80; }"}, "a.main.conf", 2, "foreground"},
		"infinite include":  {map[string]string{"a.conf": "server { listen 80;\n include b.inc; }", "b.inc": "include b.inc;"}, "b.inc", 1, "include cycle"},
		"hidden loop":       {map[string]string{"a.conf": "server { listen 80;\n include /etc/nginx-operator/next/b.inc; }", "b.inc": "include /etc/nginx-operator/next/b.inc;"}, "a.conf", 2, "Permission denied"},
		"no such resolver":  {map[string]string{"a.conf": "server { listen 80;\n location / { proxy_pass http://nowhere.invalid; } }"}, "a.conf", 2, "host not found in upstream"},
		"missing module":    {map[string]string{"a.main.conf": "load_module /usr/lib/nginx/modules/none.so;", "a.conf": "server { listen 80; }"}, "a.main.conf", 1, "none.so"},
		"too much memory":   {map[string]string{"a.conf": "limit_req_zone $uri zone=a:900000m rate=1r/s; server { listen 80; }"}, "", 0, "raise resources.limits.memory"},
		"leak":              {map[string]string{"a.conf": "server { listen 80; include /etc/nginx-operator/tls/shop/tls.key; }"}, "a.conf", 1, "Permission denied"},
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("good"))
		p.mount(instanceapi.DirSecrets+"/shop", map[string]string{"tls.key": "hunter2 secret;"})
		p.start(image, http80)
		good := p.ready().Serving
		for name, tt := range bad {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				found := p.outcome(p.next(tt.files), failed)
				if len(found.Problems) == 0 || found.Problems[0].File != tt.file || found.Problems[0].Line != tt.line || !strings.Contains(found.Problems[0].Message, tt.message) {
					t.Errorf("problems %+v", found.Problems)
				}
				p.body(80, "good")
			})
		}
		if status := p.ready(); status.Serving != good || status.Reloads != (instanceapi.Reloads{}) {
			t.Errorf("status %+v", status)
		}
		for _, leak := range []string{"hunter2"} {
			if strings.Contains(p.output.String(), leak) {
				t.Errorf("%q is in the log", leak)
			}
		}
	})
}

// TestRefusedLoads: a configuration that nginx -t accepts but nginx cannot load fails its load.
func TestRefusedLoads(t *testing.T) {
	with := func(prefix string, more ...string) map[string]string {
		files := site("good")
		files["site.conf"] = prefix + files["site.conf"]
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	good := with("limit_req_zone $binary_remote_addr zone=a:1m rate=100r/s; ")
	bad := map[string]struct {
		files   map[string]string
		message string
	}{
		"changed key":          {with("limit_req_zone $uri zone=a:1m rate=100r/s; "), `uses the "$uri" key`},
		"port that is taken":   {with("server { listen 8081; } "), "Address already in use"},
		"workers cannot start": {with("", "a.main.conf", "working_directory /none;"), "/none"},
	}
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, good).start(image, http80)
		p.ready()
		p.occupy(8081)
		for name, tt := range bad {
			t.Run(name, func(t *testing.T) {
				p := p.in(t)
				revision := p.roll(tt.files)
				found := p.outcome(revision, func(r instanceapi.Revision) bool { return r.Load == instanceapi.Failed || failed(r) })
				if len(found.Problems) == 0 || !strings.Contains(found.Problems[0].Message, tt.message) {
					t.Errorf("problems %+v", found.Problems)
				}
				p.body(80, "good")
				p.serves(nginxconf.Revision(good))
				// The verdict stays while the operator rolls back to the stable configuration.
				if status := p.order(revision, nginxconf.Revision(good), nil); status.Requested.Load != nginxconf.Revision(good) {
					t.Errorf("requested %+v", status.Requested)
				}
				p.outcome(revision, func(r instanceapi.Revision) bool { return r.Load == found.Load })
				p.order("", "", nil)
			})
		}
		other := p.roll(with("limit_req_zone $binary_remote_addr zone=a:1m rate=100r/s; # other\n"))
		p.serves(other)
	})
}

func TestCheckedReloadBySignal(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		p.signal(syscall.SIGHUP)
		p.until("reloaded", func(s instanceapi.Status) bool { return s.Reloads.Succeeded == 1 && s.Ready })
		p.signal(syscall.SIGUSR1)
		p.eventually("nginx reopens its logs", func() error {
			if !strings.Contains(p.output.String(), "reopening logs") {
				return syscall.EAGAIN
			}
			return nil
		})
	})
}
