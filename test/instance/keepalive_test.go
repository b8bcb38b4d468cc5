//go:build instance

package instance_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// think is the pause of a client between two requests on a connection. A client that pauses for
// longer than keepalive_min_timeout has to check whether the connection has been closed.
const think = 20 * time.Millisecond

// keeper is a client that does not retry. It uses a connection until the server announces that it
// will close it.
type keeper struct {
	pod  *Pod
	conn net.Conn
	read *bufio.Reader
}

func (k *keeper) ask() error {
	if k.conn == nil {
		conn, err := k.pod.container.Dial(k.pod.t.Context(), "tcp", "127.0.0.1:80")
		if err != nil {
			return err
		}
		k.conn, k.read = conn, bufio.NewReader(conn)
	}
	if _, err := fmt.Fprint(k.conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	response, err := http.ReadResponse(k.read, nil)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answer %s", response.Status)
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.Close {
		k.close()
	}
	return nil
}

func (k *keeper) close() {
	if k.conn != nil {
		_ = k.conn.Close()
	}
	k.conn = nil
}

// keep runs clients that send requests until stop is closed.
func (p *Pod) keep(number int, stop <-chan struct{}) (asked, lost *atomic.Int64, wait *sync.WaitGroup) {
	asked, lost, wait = &atomic.Int64{}, &atomic.Int64{}, &sync.WaitGroup{}
	for range number {
		wait.Go(func() {
			k := &keeper{pod: p}
			defer k.close()
			for {
				select {
				case <-stop:
					return
				case <-time.After(think):
				}
				asked.Add(1)
				if err := k.ask(); err != nil {
					lost.Add(1)
					k.close()
				}
			}
		})
	}
	return asked, lost, wait
}

// TestDrainEndsConnections: a drain announces the end of every kept connection. The clients cannot
// reconnect, so every nginx has to tell each of them before it ends.
func TestDrainEndsConnections(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("0")).start(image, http80, "--drain-delay=2s")
		p.ready()
		var lost, told atomic.Int64
		var wait sync.WaitGroup
		const clients = 20
		gone := make(chan struct{})
		for range clients {
			k := &keeper{pod: p}
			must(t, k.ask())
			wait.Go(func() {
				defer k.close()
				<-gone
				for k.conn != nil {
					<-time.After(think)
					if err := k.ask(); err != nil {
						lost.Add(1)
						return
					}
				}
				told.Add(1)
			})
		}
		p.signal(syscall.SIGTERM)
		close(gone)
		wait.Wait()
		if told.Load() != clients {
			t.Errorf("%d of %d clients were told, %d lost a request", told.Load(), clients, lost.Load())
		}
		if code := p.exit(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestIdleConnectionsAreNotLost: a reload and a drain lose no request on kept connections if nginx
// supports keepalive_min_timeout. For older versions, the test only logs the number of lost
// requests.
func TestIdleConnectionsAreNotLost(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("0")).start(image, http80, "--drain-delay=2s")
		status := p.ready()
		lossless := status.NginxVersion >= "1.27.4"
		stop := make(chan struct{})
		asked, lost, wait := p.keep(20, stop)
		for n := range 10 {
			p.serves(p.roll(site(fmt.Sprint(n + 1))))
		}
		p.signal(syscall.SIGTERM)
		start := time.Now()
		p.until("draining", func(s instanceapi.Status) bool { return s.Draining })
		<-time.After(time.Until(start.Add(1600 * time.Millisecond)))
		close(stop)
		wait.Wait()
		t.Logf("nginx %s: %d of %d requests lost", status.NginxVersion, lost.Load(), asked.Load())
		if asked.Load() == 0 || (lossless && lost.Load() > 0) {
			t.Errorf("%d of %d requests were lost", lost.Load(), asked.Load())
		}
		if code := p.exit(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}
