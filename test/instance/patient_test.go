//go:build instance

package instance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// application is a backend inside the pod's network whose answers take their time.
type application struct {
	// slowUntil is the time in nanoseconds until which it answers nothing.
	slowUntil atomic.Int64
}

// ServeHTTP implements http.Handler.
func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wait := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
	switch r.URL.Path {
	case "/poll":
		wait(3 * time.Second)
	case "/events":
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "data: x\n\n")
			_ = http.NewResponseController(w).Flush()
			wait(100 * time.Millisecond)
		}
	case "/socket":
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"))
		_, _ = io.Copy(io.Discard, buffered)
		return
	case "/large":
		_, _ = w.Write(make([]byte, 8<<20))
		return
	}
	wait(time.Until(time.Unix(0, a.slowUntil.Load())))
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = io.WriteString(w, "served")
}

// serveApplication starts the backend on a port of the pod.
func (p *Pod) serveApplication(port int) *application {
	p.t.Helper()
	a := &application{}
	must(p.t, p.container.Inside(func() error {
		listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: a, ReadHeaderTimeout: time.Minute}
		p.t.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve(listener) }() // until it is closed
		return nil
	}))
	return a
}

// crowd are clients of one kind, each of which begins again when it has ended.
type crowd struct {
	all     sync.WaitGroup
	stopped context.CancelFunc
}

func (c *crowd) stop() {
	c.stopped()
	c.all.Wait()
}

func gather(number int, pause time.Duration, client func(ctx context.Context) error) *crowd {
	ctx, cancel := context.WithCancel(context.Background())
	c := &crowd{stopped: cancel}
	for range number {
		c.all.Go(func() {
			for ctx.Err() == nil {
				_ = client(ctx) // what matters is what the instance concludes
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
		})
	}
	return c
}

// slowly reads or writes in small parts.
type slowly struct {
	io.Reader
	pause time.Duration
}

func (s slowly) Read(b []byte) (int, error) {
	time.Sleep(s.pause)
	return s.Reader.Read(b[:min(len(b), 1000)])
}

// requests returns a client that requests a path.
func (p *Pod) requests(path string, timeout time.Duration) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{DialContext: p.container.Dial, DisableKeepAlives: true}, Timeout: timeout}
	return func(ctx context.Context) error { return visit(ctx, client, http.MethodGet, path, nil) }
}

// socket opens a websocket and waits for its end.
func (p *Pod) socket(ctx context.Context) error {
	conn, err := p.container.Dial(ctx, "tcp", "127.0.0.1:8080")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_, err = fmt.Fprint(conn, "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, bufio.NewReader(conn))
	return err
}

// upload sends a body of 30 kB within three seconds.
func (p *Pod) upload(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DialContext: p.container.Dial, DisableKeepAlives: true}}
	return visit(ctx, client, http.MethodPost, "/upload", slowly{strings.NewReader(strings.Repeat("x", 30_000)), 100 * time.Millisecond})
}

// download reads a large body for seconds.
func (p *Pod) download(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DialContext: p.container.Dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:8080/large", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.CopyN(io.Discard, slowly{response.Body, 50 * time.Millisecond}, 100_000)
	return errors.Join(err, response.Body.Close())
}

// TestPatience: a harmless change goes live whatever clients and backends do meanwhile.
func TestPatience(t *testing.T) {
	config := func(change int) map[string]string {
		return map[string]string{"a.main.conf": "worker_shutdown_timeout 1s;", "site.conf": fmt.Sprintf(`server { listen 8080;
  add_header X-Change %d;
  location / { proxy_pass http://127.0.0.1:8091; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection; proxy_buffering off; proxy_read_timeout 1h; }
}`, change)}
	}
	type behavior struct {
		// before and after are the clients before the load, and those that come with it.
		before, after func(p *Pod) []*crowd
		// enough is the number of answers before the load.
		enough int64
		// pause is how long the backend answers nothing from the load on, and over reports whether the clients from before
		// leave then.
		pause time.Duration
		over  bool
	}
	steady := func(p *Pod) *crowd { return gather(4, 200*time.Millisecond, p.requests("/", 30*time.Second)) }
	none := func(*Pod) []*crowd { return nil }
	behaviors := map[string]behavior{
		"long polling":                    {before: func(p *Pod) []*crowd { return []*crowd{gather(20, 0, p.requests("/poll", time.Minute))} }, after: none, enough: 30},
		"long polling beside others":      {before: func(p *Pod) []*crowd { return []*crowd{steady(p), gather(20, 0, p.requests("/poll", time.Minute))} }, after: none, enough: 60},
		"server-sent events":              {before: func(p *Pod) []*crowd { return []*crowd{steady(p), gather(20, 0, p.requests("/events", 0))} }, after: none, enough: 60},
		"websockets":                      {before: func(p *Pod) []*crowd { return []*crowd{steady(p), gather(20, 0, p.socket)} }, after: none, enough: 60},
		"slow uploads":                    {before: func(p *Pod) []*crowd { return []*crowd{steady(p)} }, after: func(p *Pod) []*crowd { return []*crowd{gather(10, 0, p.upload)} }, enough: 60},
		"slow clients":                    {before: func(p *Pod) []*crowd { return []*crowd{steady(p)} }, after: func(p *Pod) []*crowd { return []*crowd{gather(10, 0, p.download)} }, enough: 60},
		"a request a second":              {before: func(p *Pod) []*crowd { return []*crowd{gather(1, time.Second, p.requests("/", time.Minute))} }, after: none, enough: 20},
		"a burst that ends with the load": {before: func(p *Pod) []*crowd { return []*crowd{gather(10, 50*time.Millisecond, p.requests("/", time.Minute))} }, after: none, enough: 200, over: true},
		"a backend that is slow for a while": {before: func(p *Pod) []*crowd {
			return []*crowd{steady(p), gather(6, 300*time.Millisecond, p.requests("/", 30*time.Second))}
		}, after: none, enough: 60, pause: 2500 * time.Millisecond},
	}
	images, names := slices.Sorted(maps.Keys(environment.images)), slices.Sorted(maps.Keys(behaviors))
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, config(0))
		p.patience *= 3
		p.start(image, http8080)
		p.ready()
		backend := p.serveApplication(8091)
		for i, name := range names {
			if images[i%len(images)] != image {
				continue
			}
			t.Run(name, func(t *testing.T) {
				p, b := p.in(t), behaviors[name]
				crowds := b.before(p)
				defer func() {
					for _, c := range crowds {
						c.stop()
					}
				}()
				p.answered(b.enough)
				backend.slowUntil.Store(time.Now().Add(b.pause).UnixNano())
				if b.over {
					for _, c := range crowds {
						c.stop()
					}
				}
				revision := p.rollFirst(config(i + 1))
				crowds = append(crowds, b.after(p)...)
				status := p.until("its probation is over", func(s instanceapi.Status) bool {
					return !s.OnProbation && (s.Serving == revision || s.Reloads.Failed > 0)
				})
				if status.Serving != revision {
					t.Errorf("it was rolled back: %+v", status.Revisions)
				}
			})
		}
	})
}
