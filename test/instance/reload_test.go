//go:build instance

package instance_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/test/standin/container"
)

// extra is a volume of the user from which the configuration includes files.
const extra = "/etc/extra"

var including = map[string]string{"site.conf": "server { listen 80; location / { include " + extra + "/*.conf; } }"}

// withExtra prepares a pod with that volume.
func withExtra(t *testing.T, text string) *Pod {
	t.Helper()
	p := newPod(t, including)
	p.mounts = []container.Mount{{From: filepath.Join(p.dir, "extra"), To: extra}}
	p.publish(text)
	return p
}

// publish changes the volume as the kubelet does.
func (p *Pod) publish(text string) {
	p.t.Helper()
	must(p.t, container.Publish(filepath.Join(p.dir, "extra"), map[string]string{"answer.conf": text}))
}

func (p *Pod) answers(want string) {
	p.t.Helper()
	p.eventually("answers "+want, func() error {
		_, body, err := p.get(80, "/")
		if err == nil && body != want {
			err = fmt.Errorf("answer %q", body)
		}
		return err
	})
}

// TestReloadOnChangedFiles: changed files in a mounted volume are loaded, unless nginx refuses
// them.
func TestReloadOnChangedFiles(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withExtra(t, `return 200 "one";`).start(image, "--port=http:80/TCP", "--reload-on="+extra)
		revision := nginxconf.Revision(including)
		p.serves(revision)
		p.answers("one")

		start := time.Now()
		p.publish(`return 200 "two";`)
		p.answers("two")
		t.Logf("live after %s", time.Since(start).Round(time.Millisecond))
		p.until("one reload", func(s instanceapi.Status) bool { return s.Serving == revision && s.Reloads.Succeeded == 1 })

		p.publish(`retrun 200 "three";`)
		refusedFile(t, p.until("refused", func(s instanceapi.Status) bool { return len(s.ReloadProblems) > 0 }))
		p.until("tried again", func(s instanceapi.Status) bool { return s.Reloads.Failed > 1 })
		p.body(80, "two")

		p.publish(`return 200 "four";`)
		p.answers("four")
		p.until("mended", func(s instanceapi.Status) bool {
			return s.Ready && len(s.ReloadProblems) == 0 && s.Reloads.Succeeded == 2
		})
		if text := p.output.String(); !strings.Contains(text, "reload failed") || !strings.Contains(text, "mounted files have changed") {
			t.Error("the log does not contain the reload")
		}
	})
}

// refusedFile checks that the status reports the rejected file and that nginx serves what it served
// before.
func refusedFile(t *testing.T, s instanceapi.Status) {
	t.Helper()
	// The file may hold a secret, so nginx's message about it is not shown.
	if p := s.ReloadProblems[0]; p.File != extra+"/answer.conf" || p.Line != 1 || strings.Contains(p.Message, "retrun") {
		t.Errorf("the problem is %+v", p)
	}
	if r := s.Revisions[0]; r.Test != instanceapi.Passed || r.Load != instanceapi.Passed {
		t.Errorf("the revision that is served is %+v", r)
	}
	if !s.Ready || s.Serving != nginxconf.Revision(including) || s.Reloads.Failed != 1 {
		t.Errorf("the status is %+v", s)
	}
}

// TestBootWithCorrectedFiles: after a boot that failed because of a mounted file, a change of the file
// starts the next attempt at once.
func TestBootWithCorrectedFiles(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withExtra(t, `retrun 200 "one";`)
		p.recordStarts()
		p.start(image, "--port=http:80/TCP", "--reload-on="+extra)
		p.outcome(nginxconf.Revision(including), func(r instanceapi.Revision) bool { return r.Test == instanceapi.Failed })
		p.correct(func() { p.publish(`return 200 "two";`) })
		p.body(80, "two")
	})
}

// correct makes a change after which a boot that has failed succeeds, and waits for it. The change has to start the next attempt:
// after the second failure, that and a look at the files are due 10 s later.
func (p *Pod) correct(change func()) {
	p.t.Helper()
	time.Sleep(6 * time.Second)
	before, start := p.starts(), time.Now()
	change()
	p.eventually("the next attempt", func() error {
		if p.starts() == before {
			return errors.New("nginx was not started")
		}
		return nil
	})
	if took := time.Since(start); took > 8*time.Second {
		p.t.Errorf("the next attempt began after %s", took)
	}
	p.ready()
}

// recordStarts makes the pod record each start of nginx, also for a test.
func (p *Pod) recordStarts() {
	p.t.Helper()
	dir := filepath.Join(p.dir, "recorded")
	must(p.t, os.Mkdir(dir, 0o755))
	must(p.t, os.WriteFile(filepath.Join(dir, "nginx"), []byte("#!/bin/sh\necho >>/run/starts\nexec /usr/sbin/nginx \"$@\"\n"), 0o755))
	p.mounts = append(p.mounts, container.Mount{From: dir, To: "/srv/recorded", ReadOnly: true})
	p.path = "/srv/recorded:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

// starts returns the number of recorded starts.
func (p *Pod) starts() int {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(scratchOf(p.dir, "/run"), "starts"))
	must(p.t, err)
	return len(text)
}
