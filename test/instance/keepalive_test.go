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

func (k *keeper) get() error {
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
func (p *Pod) keep(number int, stop <-chan struct{}) (requests, lost *atomic.Int64, wait *sync.WaitGroup) {
	requests, lost, wait = &atomic.Int64{}, &atomic.Int64{}, &sync.WaitGroup{}
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
				requests.Add(1)
				if err := k.get(); err != nil {
					lost.Add(1)
					k.close()
				}
			}
		})
	}
	return requests, lost, wait
}

// TestDrainEndsConnections: a drain announces the end of every kept connection. The clients cannot
// reconnect, so every nginx has to announce its end to each of them.
func TestDrainEndsConnections(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		p := newPod(t, site("0")).start(image, http80, "--drain-delay=6s")
		p.ready()
		var lost, closed atomic.Int64
		var wait sync.WaitGroup
		const clients = 20
		gone := make(chan struct{})
		for range clients {
			k := &keeper{pod: p}
			must(t, k.get())
			wait.Go(func() {
				defer k.close()
				<-gone
				for k.conn != nil {
					<-time.After(think)
					if err := k.get(); err != nil {
						lost.Add(1)
						return
					}
				}
				closed.Add(1)
			})
		}
		p.signal(syscall.SIGTERM)
		close(gone)
		wait.Wait()
		if closed.Load() != clients {
			t.Errorf("%d of %d connections were closed with an announcement, %d clients lost a request", closed.Load(), clients, lost.Load())
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
		p := newPod(t, site("0")).start(image, http80, "--drain-delay=8s")
		status := p.ready()
		lossless := status.NginxVersion >= "1.27.4"
		stop := make(chan struct{})
		requests, lost, wait := p.keep(20, stop)
		for n := range 10 {
			p.serves(p.roll(site(fmt.Sprint(n + 1))))
		}
		p.signal(syscall.SIGTERM)
		start := time.Now()
		p.until("draining", func(s instanceapi.Status) bool { return s.Draining })
		// After the reload at half of the delay, and long before the end of it, also on a busy machine.
		<-time.After(time.Until(start.Add(5600 * time.Millisecond)))
		close(stop)
		wait.Wait()
		t.Logf("nginx %s: %d of %d requests lost", status.NginxVersion, lost.Load(), requests.Load())
		if requests.Load() == 0 || (lossless && lost.Load() > 0) {
			t.Errorf("%d of %d requests were lost", lost.Load(), requests.Load())
		}
		if code := p.exit(patience); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}
