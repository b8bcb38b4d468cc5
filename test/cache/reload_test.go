//go:build instance

package cache

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestUploadsDuringReloads: no request with a body fails, or reaches the origin twice, while the edge gets new configurations.
func TestUploadsDuringReloads(t *testing.T) {
	t.Parallel()
	s := &tiers{origin: newOrigin(t), workers: 2}
	s.start(t, declare(nil), map[string]string{"shard.test": freePorts(t, 1)[0]})
	const uploads, reloads = 8, 20
	stop := make(chan struct{})
	var group sync.WaitGroup
	for client := range uploads {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				path := fmt.Sprintf("/%d/%d", client, n)
				if status, err := s.upload(t, path); err != nil || status != http.StatusOK {
					t.Errorf("%s: status %d, %v", path, status, err)
				}
			}
		})
	}
	for range reloads {
		time.Sleep(100 * time.Millisecond)
		must(t, s.edgeProcess.Process.Signal(syscall.SIGHUP))
	}
	close(stop)
	group.Wait()
	t.Logf("%d uploads", s.origin.count())
}

// upload sends a request with a body over a connection of its own.
func (s *tiers) upload(t *testing.T, path string) (status int, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.edge+path, strings.NewReader("body"))
	must(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
