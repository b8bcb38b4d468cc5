//go:build instance

package instance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// slowness is the response time of the backend.
const slowness = 200 * time.Millisecond

// backend serves in the pod's network. It responds to /slow and /bad after a delay.
func (p *Pod) backend(port int) {
	p.t.Helper()
	var listener net.Listener
	must(p.t, p.container.Inside(func() (err error) {
		listener, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		return err
	}))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(slowness)
		if path.Base(r.URL.Path) == "bad" {
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = io.WriteString(w, "backend")
	})}
	go func() { _ = server.Serve(listener) }()
	p.t.Cleanup(func() { _ = server.Close() })
}

// times requests a path of port 80 a number of times.
func (p *Pod) times(number int, path string) {
	p.t.Helper()
	for range number {
		_, _, err := p.get(80, path)
		must(p.t, err)
	}
}

// window returns the instance's request window of the last seconds.
func (p *Pod) window(seconds int) (instanceapi.RequestWindow, error) {
	var window instanceapi.RequestWindow
	code, body, err := p.get(instanceapi.Port, fmt.Sprintf("%s?%s=%d", instanceapi.PathRequests, instanceapi.ParameterSeconds, seconds))
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("code %d: %s", code, body)
	}
	if err != nil {
		return window, err
	}
	return window, json.Unmarshal([]byte(body), &window)
}

// counts waits until the given numbers of requests and errors have been counted.
func (p *Pod) counts(requests, errors int64) instanceapi.RequestWindow {
	p.t.Helper()
	var last instanceapi.RequestWindow
	p.eventually("the requests are counted", func() error {
		window, err := p.window(600)
		if err == nil && (window.Requests != requests || window.Errors != errors) {
			err = fmt.Errorf("%+v instead of %d requests and %d errors", window, requests, errors)
		}
		last = window
		return err
	})
	return last
}

func TestRequestsOfTheLastSeconds(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := func(text string) map[string]string {
			return map[string]string{"site.conf": fmt.Sprintf(`server { listen 80;
				location / { return 200 %s; } location /404/ { return 404; } location /503/ { return 503; }
				location /off/ { access_log off; return 500; } location /up/ { proxy_pass http://127.0.0.1:8081; } }`, text)}
		}
		p := newPod(t, files("one")).start(image, http80)
		p.ready()
		p.backend(8081)
		p.times(30, "/")
		p.times(3, "/404/")
		p.times(4, "/503/")
		p.times(2, "/off/")
		p.times(10, "/up/slow")
		p.times(3, "/up/bad")
		// A client that does not wait for the response causes no error.
		conn, err := p.container.Dial(t.Context(), "tcp", "127.0.0.1:80")
		must(t, err)
		_, err = fmt.Fprint(conn, "GET /up/slow HTTP/1.1\r\nHost: x\r\n\r\n")
		must(t, err)
		time.Sleep(slowness / 4)
		must(t, conn.Close())
		window := p.counts(53, 9)
		if n := window.Latency.Count(); n != 44 {
			t.Errorf("%d latencies of requests without an error, want 44", n)
		}
		if slow := window.Latency.Above(slowness.Seconds() / 2); slow < 10 || slow > 11 {
			t.Errorf("%v requests were slow, want 10", slow)
		}
		if p90 := window.Latency.Quantile(.9); p90 < slowness.Seconds()/1.3 || p90 > slowness.Seconds()*1.5 {
			t.Errorf("the 90th percentile is %v s, want about %s", p90, slowness)
		}
		if window.Seconds > 30 {
			t.Errorf("the window of a young instance covers %d s", window.Seconds)
		}

		// The instance's own requests to nginx, for reloads and metrics, do not count.
		p.serves(p.roll(files("two")))
		for range 5 {
			must(t, p.metrics(`nginx_up 1`))
		}
		p.times(1, "/")
		p.counts(1, 0)
		for _, seconds := range []int{0, -1, 3601} {
			if window, err := p.window(seconds); err == nil {
				t.Errorf("the last %d s were answered with %+v", seconds, window)
			}
		}
	})
}

// TestRequestsOfANewConfiguration: the requests of the previous configuration are not part of the
// new one's figures, and a configuration cannot keep its own requests from being counted.
func TestRequestsOfANewConfiguration(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		p.ready()
		p.times(30, "/")
		p.counts(30, 0)
		bad := checked(map[string]string{"site.conf": "access_log off;\nserver { listen 80; access_log off; access_log /dev/stdout; location / { access_log off; return 503; } }"},
			`{"ignoreFirstAnswers":true}`)
		revision := p.roll(bad)
		p.serves(revision)
		p.times(20, "/")
		if window := p.counts(20, 20); window.Revision != revision || window.Seconds > 60 {
			t.Errorf("the window of %s is %+v", revision, window)
		}
	})
}

func TestRequestsAreForgotten(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80)
	p.ready()
	p.times(20, "/")
	p.counts(20, 0)
	p.eventually("the last second has no request any more", func() error {
		window, err := p.window(1)
		if err == nil && (window.Requests != 0 || window.Seconds > 6) {
			err = fmt.Errorf("there are %+v", window)
		}
		return err
	})
	p.counts(20, 0)
}

func TestServingSeconds(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("one")).start(image, http80)
		longer := func(s instanceapi.Status) bool { return s.ServingSeconds != nil && *s.ServingSeconds >= 2 }
		if status := p.ready(); longer(status) {
			t.Errorf("nginx has served for %d s already", *status.ServingSeconds)
		}
		p.until("it has served for a while", longer)
		p.signal(syscall.SIGHUP)
		status := p.until("reloaded", func(s instanceapi.Status) bool { return s.Ready && s.Reloads.Succeeded == 1 })
		if !longer(status) {
			t.Errorf("a reload of the same revision has reset the counts: %+v", status)
		}
		if status := p.serves(p.roll(site("two"))); longer(status) || status.ServingSeconds == nil {
			t.Errorf("another revision is served for as long as the one before: %+v", status)
		}
	})
}

func TestServingSecondsWithoutAConfiguration(t *testing.T) {
	p := newPod(t, map[string]string{"site.conf": "nonsense;"}).start("forky", http80)
	status := p.until("boot failed", func(s instanceapi.Status) bool { return len(s.Revisions) > 0 && failed(s.Revisions[0]) })
	if status.ServingSeconds != nil {
		t.Errorf("nothing is served for %d s", *status.ServingSeconds)
	}
}
