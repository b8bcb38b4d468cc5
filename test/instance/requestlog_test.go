//go:build instance

package instance_test

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
)

// keepAlive makes the pod's client reuse connections.
func (p *Pod) keepAlive() {
	p.client.Transport = &http.Transport{DialContext: p.container.Dial}
}

// TestNoLineIsLost: every request is counted exactly once, even during reloads and when old workers
// end.
func TestNoLineIsLost(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		const requests, rounds = 300, 4
		for i := range rounds {
			p.times(requests, "/")
			p.serves(p.roll(site(fmt.Sprint("text ", i))))
		}
		p.eventually("all requests are counted", func() error {
			return p.metrics(fmt.Sprintf(`nginx_http_requests_total{code="2xx",method="GET",server="_"} %d`, rounds*requests), `nginx_http_log_malformed_total 0`)
		})
	})
}

// TestStoppedReader: if process 1 stops reading and the log's memory is full, nginx keeps
// serving, and requests are counted again when process 1 reads again.
func TestStoppedReader(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one"))
		dir := scratchOf(p.dir, instanceapi.DirRequestLog)
		must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=1777"))
		t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
		p.start(image, http80)
		p.ready()
		p.keepAlive()
		p.signal(syscall.SIGSTOP)
		p.fillLog(t, dir)
		for range 1000 {
			if code, _, err := p.get(80, "/"); err != nil || code != http.StatusOK {
				t.Fatalf("with a full log, a request is answered %d (%v)", code, err)
			}
		}
		p.signal(syscall.SIGCONT)
		var before int64
		p.eventually("the log is read again", func() error {
			window, err := p.window(600)
			if err == nil && window.Requests == 0 {
				err = fmt.Errorf("nothing is counted")
			}
			before = window.Requests
			return err
		})
		p.eventually("later requests are counted", func() error {
			p.times(1, "/")
			window, err := p.window(600)
			if err == nil && window.Requests <= before {
				err = fmt.Errorf("still %d", before)
			}
			return err
		})
		var full unix.Statfs_t
		must(t, unix.Statfs(dir, &full))
		if used := full.Blocks - full.Bfree; used > full.Blocks/2 {
			t.Errorf("%d of %d blocks are in use", used, full.Blocks)
		}
	})
}

// fillLog sends requests until the log's memory, a separate file system, is full.
func (p *Pod) fillLog(t *testing.T, dir string) {
	t.Helper()
	var full unix.Statfs_t
	for requests := 0; full.Blocks == 0 || full.Bfree > 0; requests++ {
		if requests > 50_000 {
			t.Fatal("the log does not fill its memory")
		}
		code, body, err := p.get(80, "/")
		if err != nil || code != http.StatusOK {
			t.Fatalf("request %d is answered %d %q (%v)", requests, code, body, err)
		}
		must(t, unix.Statfs(dir, &full))
	}
}

// TestWithoutMemoryForTheLog: a pod whose template is from an earlier release starts without memory
// for the log.
func TestWithoutMemoryForTheLog(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80, "--request-log-dir=/nowhere")
	p.ready()
	p.times(20, "/")
	p.counts(20, 0)
}
