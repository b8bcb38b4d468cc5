//go:build instance

package instance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/standin/container"
)

const http80 = "--port=http:80/TCP"

func failed(r instanceapi.Revision) bool { return r.Test == instanceapi.Failed }
func passed(r instanceapi.Revision) bool { return r.Test == instanceapi.Passed }

func TestBoot(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := site("one")
		p := newPod(t, files).start(image, http80)
		status := p.ready()
		p.body(80, "one")
		revision := nginxconf.Revision(files)
		if status.Serving != revision || status.Stable != revision || status.Version != "test" || status.NginxVersion == "" {
			t.Errorf("status %+v", status)
		}
		if len(status.Revisions) != 1 || status.Revisions[0].Test != instanceapi.Passed || status.Revisions[0].Load != instanceapi.Passed {
			t.Errorf("revisions %+v", status.Revisions)
		}
		t.Logf("resident memory at rest: %s", resident(t, p.container.PID()))
		info, err := os.Stat(filepath.Join(environment.programs, instanceapi.Program))
		must(t, err)
		t.Logf("size of the program: %.1f MiB", float64(info.Size())/(1<<20))
	})
}

func resident(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func TestBootWithABadConfiguration(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		bad := map[string]string{"site.conf": "server {\n  listen 80;\n  serve_name x;\n}\n"}
		p := newPod(t, bad)
		p.recordStarts()
		p.start(image, http80)
		found := p.outcome(nginxconf.Revision(bad), failed)
		if len(found.Problems) != 1 || found.Problems[0].File != "site.conf" || found.Problems[0].Line != 3 || !strings.Contains(found.Problems[0].Message, "serve_name") {
			t.Errorf("problems %+v", found.Problems)
		}
		code, reason, err := p.get(instanceapi.Port, instanceapi.PathReady)
		if err != nil || code != 503 || !strings.Contains(reason, "serve_name") {
			t.Errorf("readiness %d %q (%v)", code, reason, err)
		}
		p.correct(func() { p.mount(instanceapi.DirStable, site("corrected")) })
		p.body(80, "corrected")
	})
}

// TestSlowStart: on a busy machine, nginx may take long to start its workers. Its configuration is not refused for that.
func TestSlowStart(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := site("one")
		p := newPod(t, files)
		p.slowStart(11 * time.Second)
		p.patience *= 3 // It is started twice: for a dry run, and to serve.
		p.start(image, http80)
		p.ready()
		p.body(80, "one")
		if strings.Contains(p.output.String(), "did not confirm") {
			t.Error("the start was given up")
		}
	})
}

// slowStart delays each start of nginx, but no test of a configuration.
func (p *Pod) slowStart(delay time.Duration) {
	p.t.Helper()
	p.replaceNginx(fmt.Sprintf("case \" $* \" in *' -t '*|*' -T '*|*' -v '*|*' -V '*) ;; *) sleep %d ;; esac", int(delay.Seconds())))
}

// replaceNginx has a shell script run before each process of nginx. It returns the script's folder, /srv/before in the pod.
func (p *Pod) replaceNginx(script string) (dir string) {
	p.t.Helper()
	dir = filepath.Join(p.dir, "before")
	must(p.t, os.Mkdir(dir, 0o755))
	must(p.t, os.WriteFile(filepath.Join(dir, "nginx"), []byte("#!/bin/sh\n"+script+"\nexec /usr/sbin/nginx \"$@\"\n"), 0o755))
	p.mounts = append(p.mounts, container.Mount{From: dir, To: "/srv/before", ReadOnly: true})
	p.path = "/srv/before:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	return dir
}

func TestLoadAfterABadBoot(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, map[string]string{"site.conf": "nonsense;"}).start(image, http80)
		p.outcome(nginxconf.Revision(map[string]string{"site.conf": "nonsense;"}), failed)
		p.serves(p.roll(site("loaded")))
		p.body(80, "loaded")
	})
}

func TestWholeConfiguration(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, map[string]string{"nginx.conf": `user nginx;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;
daemon off;
include /etc/nginx/modules-enabled/*.conf;
events { worker_connections 100; }
http {
    include mime.types;
    access_log /var/log/nginx/access.log;
    deny all;
    auth_basic closed;
    auth_basic_user_file /dev/null;
    include sites.inc;
}
`, "sites.inc": `server { listen 80; allow all; auth_basic off; location / { return 200 "whole"; } }`}).start(image, http80)
		p.ready()
		p.body(80, "whole")
	})
}

func TestNginxIsKilled(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		must(t, syscall.Kill(p.master(), syscall.SIGKILL))
		if code := p.exit(patience); code == 0 {
			t.Error("the container ended as if nothing had happened")
		}
		message, err := os.ReadFile(p.dir + "/termination-log")
		must(t, err)
		if !strings.Contains(string(message), "nginx was killed") || !strings.Contains(string(message), "resources.limits.memory") {
			t.Errorf("termination message %q", message)
		}
	})
}
