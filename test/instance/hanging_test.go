//go:build instance

package instance_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/hurtful"
)

const http8080 = "--port=http:8080/TCP"

// blackHole makes packets to 192.0.2.0/24 vanish.
func (p *Pod) blackHole() {
	p.t.Helper()
	must(p.t, p.container.Inside(func() error {
		for _, command := range []string{"tuntap add hole0 mode tun", "address add 192.0.2.254/24 dev hole0", "link set hole0 up"} {
			if text, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
				return fmt.Errorf("ip %s: %w: %s", command, err, text)
			}
		}
		return nil
	}))
}

// visitors request a path again and again, each with a pause after an answer, and give up after a while.
type visitors struct {
	all              sync.WaitGroup
	stopped          context.CancelFunc
	requests, failed atomic.Int64
}

// visit starts a number of visitors of hurtful.Path.
func (p *Pod) visit(number int, pause, timeout time.Duration) *visitors {
	ctx, cancel := context.WithCancel(context.Background())
	v := &visitors{stopped: cancel}
	client := &http.Client{Transport: &http.Transport{DialContext: p.container.Dial, DisableKeepAlives: true}, Timeout: timeout}
	for range number {
		v.all.Go(func() {
			for ctx.Err() == nil {
				err := visit(ctx, client, http.MethodGet, hurtful.Path, nil)
				if ctx.Err() != nil {
					return
				}
				v.requests.Add(1)
				if err != nil {
					v.failed.Add(1)
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
		})
	}
	return v
}

func (v *visitors) stop() {
	v.stopped()
	v.all.Wait()
}

func visit(ctx context.Context, client *http.Client, method, path string, body io.Reader) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1:8080"+path, body)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// answered waits until the served configuration has answered a number of requests.
func (p *Pod) answered(number int64) {
	p.t.Helper()
	p.eventually("there was enough traffic before", func() error {
		window, err := p.window(30)
		if err == nil && window.Requests-window.Errors < number {
			err = fmt.Errorf("%d requests", window.Requests-window.Errors)
		}
		return err
	})
}

// rollFirst orders the load of a configuration, for whose first answers other pods wait.
func (p *Pod) rollFirst(files map[string]string) string {
	p.t.Helper()
	revision := p.next(files)
	p.sendOrder(instanceapi.Requested{Test: revision, Load: revision}, nil, instanceapi.Hints{First: true})
	return revision
}

// TestHanging: a configuration whose requests hang is rolled back.
func TestHanging(t *testing.T) {
	names := slices.Sorted(maps.Keys(environment.images))
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, hurtful.Good()).start(image, http8080)
		p.blackHole()
		good := p.ready().Serving
		v := p.visit(10, 250*time.Millisecond, 2*time.Second)
		defer v.stop()
		for i, c := range hurtful.Hanging() {
			if names[i%len(names)] != image {
				continue
			}
			ended := t.Run(c.Name, func(t *testing.T) {
				p := p.in(t)
				p.answered(60)
				requests, failed := v.requests.Load(), v.failed.Load()
				found := p.rolledBack(c.Files)
				t.Logf("%d of %d requests failed: %s", v.failed.Load()-failed, v.requests.Load()-requests, found.Problems[0].Message)
				if err := c.Want.In(found.Problems[0].Message); !found.TakenBack || err != nil {
					t.Errorf("%+v: %v", found, err)
				}
				p.serves(good)
			})
			if !ended {
				return
			}
		}
	})
}

// rolledBack orders the load of a configuration, and returns its outcome when it has been rolled back. It logs whether the
// pod kept the others waiting until then, which depends on how fast the requests pile up.
func (p *Pod) rolledBack(files map[string]string) instanceapi.Revision {
	p.t.Helper()
	bad := p.rollFirst(files)
	var found instanceapi.Revision
	released := false
	p.until("it is rolled back", func(s instanceapi.Status) bool {
		released = released || s.Serving == bad && !s.Comparing
		i := slices.IndexFunc(s.Revisions, func(r instanceapi.Revision) bool { return r.Revision == bad && r.Load == instanceapi.Failed })
		if i >= 0 {
			found = s.Revisions[i]
		}
		return i >= 0
	})
	if released {
		p.t.Log("other pods were allowed to load it")
	}
	return found
}
