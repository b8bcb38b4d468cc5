//go:build instance

package instance_test

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/standin/container"
)

// clients send requests as fast as they can, each on a new connection, until the endpoint is gone.
type clients struct {
	requests atomic.Int64
	gone     chan struct{}
	wait     sync.WaitGroup

	mu     sync.Mutex
	losses []loss
}

// loss is a request without the expected response.
type loss struct {
	at  time.Time
	why string
}

func (p *Pod) load(clientsNumber int) *clients {
	c := &clients{gone: make(chan struct{})}
	for range clientsNumber {
		c.wait.Go(func() {
			for {
				select {
				case <-c.gone:
					return
				default:
				}
				code, _, err := p.get(80, "/")
				c.requests.Add(1)
				if err != nil || code != http.StatusOK {
					c.lose(loss{time.Now(), fmt.Sprintf("%d %v", code, err)})
				}
			}
		})
	}
	return c
}

func (c *clients) lose(l loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.losses = append(c.losses, l)
}

func (c *clients) stop() {
	close(c.gone)
	c.wait.Wait()
}

func (c *clients) check(t *testing.T) {
	t.Helper()
	c.checkBefore(t, time.Now())
}

// checkBefore fails the test if a request was lost before a moment. After it, no response is
// guaranteed.
func (c *clients) checkBefore(t *testing.T, moment time.Time) {
	t.Helper()
	t.Logf("%d requests", c.requests.Load())
	lost := slices.DeleteFunc(slices.Clone(c.losses), func(l loss) bool { return !l.at.Before(moment) })
	if c.requests.Load() == 0 || len(lost) > 0 {
		t.Errorf("%d of %d requests failed: %.1000v", len(lost), c.requests.Load(), lost)
	}
}

func TestDrain(t *testing.T) {
	const delay = 4 * time.Second
	eachNginx(t, func(t *testing.T, image string) {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGINT} {
			t.Run(signal.String(), func(t *testing.T) {
				files := site("one")
				files["slow.conf"] = `server { listen 81; location / { limit_rate 30k; root /usr/lib/nginx/modules; } }`
				p := newPod(t, files).start(image, http80, "--drain-delay="+delay.String(), "--drain-timeout=20s")
				p.ready()
				// A download that takes longer than the drain delay.
				patient := &http.Client{Transport: p.client.Transport, Timeout: patience}
				slow, err := patient.Get("http://127.0.0.1:81/ngx_stream_module.so")
				must(t, err)
				defer func() { _ = slow.Body.Close() }()
				traffic := p.load(4)
				start := time.Now()
				p.signal(signal)
				p.until("drains, and is ready", func(s instanceapi.Status) bool { return s.Draining && s.Ready })
				// Endpoints remove the pod within the delay, which starts when the signal arrives.
				// Clients that a busy machine holds up past its end are refused.
				<-time.After(time.Until(start.Add(delay)))
				traffic.stop()
				traffic.checkBefore(t, start.Add(delay))
				p.eventually("not ready when nginx ends", func() error {
					code, reason, err := p.get(instanceapi.Port, instanceapi.PathReady)
					if err != nil || code != http.StatusServiceUnavailable {
						return fmt.Errorf("%d %s %w", code, reason, err)
					}
					return nil
				})
				body, err := io.Copy(io.Discard, slow.Body)
				if err != nil || body != slow.ContentLength {
					t.Errorf("the download ended after %d of %d bytes: %v", body, slow.ContentLength, err)
				}
				if code := p.exit(patience); code != 0 {
					t.Errorf("exit code %d", code)
				}
			})
		}
	})
}

func TestDrainTimeout(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := map[string]string{"site.conf": `server { listen 80; limit_rate 1; root /usr/share/nginx/html; }`}
		p := newPod(t, files).start(image, http80, "--drain-delay=0s", "--drain-timeout=1s")
		p.ready()
		conn, err := p.container.Dial(t.Context(), "tcp", "127.0.0.1:80")
		must(t, err)
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
		must(t, err)
		start := time.Now()
		p.signal(syscall.SIGTERM)
		code := p.exit(patience)
		if took := time.Since(start); code != 0 || took > 5*time.Second {
			t.Errorf("exit code %d after %s", code, took)
		}
	})
}

// TestDrainWithoutNginx: without nginx, nothing is drained.
func TestDrainWithoutNginx(t *testing.T) {
	p := newPod(t, map[string]string{"site.conf": "nonsense;"}).start("forky", http80, "--drain-delay=60s")
	p.until("boot failed", func(s instanceapi.Status) bool { return len(s.Revisions) > 0 && failed(s.Revisions[0]) })
	p.signal(syscall.SIGTERM)
	if code := p.exit(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestOrphansAreReaped(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	p.ready()
	pid := strconv.Itoa(p.container.PID())
	for range 10 {
		orphan := exec.Command("nsenter", "-t", pid, "-p", "-m", "-r", "/bin/sh", "-c", "(sleep 0.05 &) ; exit 0")
		if output, err := orphan.CombinedOutput(); err != nil {
			t.Fatalf("make an orphan: %v: %s", err, output)
		}
	}
	p.eventually("no zombies", func() error {
		for _, child := range container.Children(p.container.PID()) {
			if !strings.HasPrefix(container.Title(child), "nginx: master") {
				return fmt.Errorf("process %d is there still", child)
			}
		}
		return nil
	})
	// The instance manager still waits for its own children.
	p.serves(p.roll(site("two")))
}

// TestManyReloads: connections that do not end by themselves hold up no change, however long a drain may take. Some of them
// are ended early, which the status counts.
func TestManyReloads(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := func(n int) map[string]string {
			return map[string]string{"site.conf": fmt.Sprintf(`server { listen 80; location / { return 200 %d; } location /slow/ { limit_rate 1; alias /usr/share/nginx/html/; } }`, n)}
		}
		p := newPod(t, files(0)).start(image, http80, "--drain-timeout=10m")
		p.ready()
		traffic := p.load(2)
		const reloads, most, left = 100, 5, 4
		start := time.Now()
		worst := 0
		for n := range reloads {
			// Each generation of workers keeps a connection that does not end by itself.
			conn, err := p.container.Dial(t.Context(), "tcp", "127.0.0.1:80")
			must(t, err)
			defer func() { _ = conn.Close() }()
			_, err = fmt.Fprint(conn, "GET /slow/index.html HTTP/1.0\r\n\r\n")
			must(t, err)
			status := p.serves(p.roll(files(n + 1)))
			worst = max(worst, (status.Workers.Exiting+status.Workers.Configured-1)/status.Workers.Configured)
		}
		traffic.stop()
		traffic.check(t)
		t.Logf("%d reloads in %s, at most %d old generations alive; resident memory of the instance: %s",
			reloads, time.Since(start).Round(time.Millisecond), worst, resident(t, p.container.PID()))
		if worst > most {
			t.Errorf("%d old generations were alive", worst)
		}
		status := p.ready()
		if status.Reloads.Succeeded != reloads || status.Reloads.Failed != 0 {
			t.Errorf("reloads %+v", status.Reloads)
		}
		must(t, p.metrics(fmt.Sprintf("nginx_old_worker_generations_ended_total %d", reloads-left)))
	})
}
