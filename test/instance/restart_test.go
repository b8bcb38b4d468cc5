//go:build instance

package instance_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// crash ends the container without a message, as when it runs out of memory.
func (p *Pod) crash() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.exit(patience)
}

// TestRestartAfterACrash: the container restarts on the scratch space of the previous one, with
// sockets that no process listens on and folders of configurations.
func TestRestartAfterACrash(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := site("one")
		files["local.conf"] = `server { listen unix:/run/local.sock; } server { listen unix:/tmp/other.sock; }`
		p := newPod(t, files).start(image, http80)
		booted := p.ready().Serving
		p.serves(p.roll(site("two")))
		p.serves(p.roll(files))
		p.crash()
		if _, err := os.Lstat(filepath.Join(scratchOf(p.dir, "/run"), "local.sock")); err != nil {
			t.Fatalf("nginx left no socket that could stand in the way: %v", err)
		}
		p.start(image, http80)
		if status := p.serves(booted); status.Reloads != (instanceapi.Reloads{}) {
			t.Errorf("reloads %+v", status.Reloads)
		}
		p.body(80, "one")
		folders, err := os.ReadDir(filepath.Join(scratchOf(p.dir, "/run"), "nginx-operator", "revisions"))
		if err != nil || len(folders) != 1 {
			t.Errorf("%d folders of configurations (%v), want that of the one that is served", len(folders), err)
		}
	})
}

// TestRestartLoadsTheRequestedRevision: a restarted pod serves the configuration that it is ordered to load even if
// that is not the stable one. The configuration has served before: one that ended its container at once is
// not loaded again at once (TestContainerEndsInALoad).
func TestRestartLoadsTheRequestedRevision(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		revision := p.roll(site("two"))
		p.serves(revision)
		p.until("its probation is over", func(s instanceapi.Status) bool { return !s.OnProbation })
		p.crash()
		p.start(image, http80)
		p.order(revision, revision, nil)
		p.serves(revision)
		p.body(80, "two")
	})
}

// TestRestartKeepsTheCertificate: a certificate is kept if its Secret disappears while the
// container is down.
func TestRestartKeepsTheCertificate(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := withCertificate(t, image, pair(t, 1))
		p.ready()
		p.crash()
		p.mount(shop, nil)
		p.start(image, "--port=https:443/TCP", "--certificate=shop")
		status := p.ready()
		if got := first(status); got.Serial != "1" || got.Error == "" || p.served() != 1 {
			t.Errorf("certificate %+v", got)
		}
	})
}

// TestRefusedCertificateIsRetried: a rotation is retried if nginx temporarily rejects every
// configuration.
func TestRefusedCertificateIsRetried(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := map[string]string{"site.conf": tlsSite + "\ninclude /run/passing.conf;"}
		p := newPod(t, files)
		passing := filepath.Join(scratchOf(p.dir, "/run"), "passing.conf")
		must(t, os.WriteFile(passing, nil, 0o644))
		p.mount(shop, pair(t, 1))
		p.start(image, "--port=https:443/TCP", "--certificate=shop")
		p.ready()
		must(t, os.Remove(passing))
		p.mount(shop, pair(t, 2))
		status := p.until("refused", func(s instanceapi.Status) bool { return first(s).Error != "" })
		if !status.Ready || p.served() != 1 || !strings.Contains(first(status).Error, "nginx refused it") {
			t.Errorf("status %+v", status)
		}
		must(t, os.WriteFile(passing, nil, 0o644))
		start := time.Now()
		p.patience = 40 * time.Second
		p.until("tried again", func(s instanceapi.Status) bool { return first(s).Serial == "2" && first(s).Error == "" })
		t.Logf("tried again after %s", time.Since(start).Round(time.Second))
		if p.served() != 2 {
			t.Error("nginx serves the old certificate")
		}
	})
}
