//go:build instance

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instance/cachevolume"
	"example.com/nginx-operator/internal/instanceapi"
)

// mountVolume gives the shard a volume of volumeSize.
func (s *tiers) mountVolume(t *testing.T) {
	t.Helper()
	if s.volumeSize == 0 {
		return
	}
	must(t, os.MkdirAll(s.volume, 0o755))
	must(t, syscall.Mount("volume", s.volume, "tmpfs", 0, fmt.Sprintf("size=%d", s.volumeSize)))
}

// unmountVolume ends the volume of the shard.
func (s *tiers) unmountVolume(t *testing.T) {
	t.Helper()
	if s.volumeSize > 0 {
		must(t, syscall.Unmount(s.volume, syscall.MNT_DETACH))
	}
}

// clients send requests that must not fail, each for another object, until they are stopped.
type clients struct {
	stop func() (requests int)

	mu     sync.Mutex
	failed []string
}

// startClients starts clients of the edge. Every other request is for one of the objects that are stored.
func (s *tiers) startClients(t *testing.T, stored []string) *clients {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &clients{}
	var group sync.WaitGroup
	var sent [4]int
	for worker := range sent {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				path := fmt.Sprintf("/new/%d/%d?size=20000", worker, n)
				if n%2 == 0 {
					path = stored[n/2%len(stored)]
				}
				if err := s.check(context.WithoutCancel(ctx), path); err != nil {
					c.mu.Lock()
					c.failed = append(c.failed, fmt.Sprintf("%s: %v", path, err))
					c.mu.Unlock()
				}
				sent[worker]++
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	c.stop = func() (requests int) {
		cancel()
		group.Wait()
		for _, n := range sent {
			requests += n
		}
		return requests
	}
	return c
}

// check requests a path, and returns an error unless the whole object is the answer.
func (s *tiers) check(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.edge+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // It was read.
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	_, content, _ := strings.Cut(string(body), " ")
	if size := 20000; response.StatusCode != http.StatusOK || content != strings.Repeat("x", size) {
		return fmt.Errorf("status %d, %d bytes", response.StatusCode, len(content))
	}
	return nil
}

// store stores objects in the shard, and not in the edge.
func (s *tiers) store(t *testing.T, n int) []string {
	t.Helper()
	var paths []string
	for i := range n {
		paths = append(paths, fmt.Sprintf("/stored/%d?size=20000", i))
		must(t, s.check(t.Context(), paths[i]))
	}
	return paths
}

// objects returns the files of the shard's objects.
func (s *tiers) objects(t *testing.T) []string {
	t.Helper()
	var files []string
	must(t, filepath.WalkDir(filepath.Join(s.volume, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// TestFullVolume: no request fails while other files fill the volume of a shard, and it stores objects again once there
// is room.
func TestFullVolume(t *testing.T) {
	t.Parallel()
	const size = 32 << 20
	s := startOnVolume(t, size)
	volume := cachevolume.New(s.volume, s.closed, time.Now)
	must(t, volume.Start(t.Context(), t.Context()))
	stored := s.store(t, 20)
	load := s.startClients(t, stored)
	other, err := os.Create(filepath.Join(s.volume, "other"))
	must(t, err)
	for err == nil {
		time.Sleep(20 * time.Millisecond)
		_, err = other.Write(make([]byte, 80<<10))
		// A busy machine notices late that less than a fiftieth is free.
		if s.free(t) < size/50 {
			poll().Eventually(t, "no object is stored", func() error { _, err := os.Stat(s.closed); return err })
		}
	}
	must(t, other.Close())
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	before := s.origin.count()
	poll().Eventually(t, "the full volume is reported, and objects are requested meanwhile", func() error {
		if problem, n := volume.Report().Problem, s.origin.count()-before; problem != "it is full" || n < 100 {
			return fmt.Errorf("the problem is %q, %d objects were requested", problem, n)
		}
		return nil
	})
	must(t, os.Remove(other.Name()))
	poll().Eventually(t, "objects are stored again", func() error {
		if problem := volume.Report().Problem; problem != "" {
			return errors.New(problem)
		}
		return nil
	})
	requests := load.stop()
	if len(load.failed) > 0 {
		t.Errorf("of %d requests, %d failed: %s", requests, len(load.failed), load.failed[0])
	}
	objects := len(s.objects(t))
	must(t, s.check(t.Context(), "/another?size=20000"))
	if after := len(s.objects(t)); after != objects+1 {
		t.Errorf("of %d objects before, there are %d", objects, after)
	}
}

// free returns the free bytes of the shard's volume.
func (s *tiers) free(t *testing.T) int64 {
	t.Helper()
	var fs syscall.Statfs_t
	must(t, syscall.Statfs(s.volume, &fs))
	return int64(fs.Bavail) * fs.Bsize
}

// TestDamagedObjects: objects whose files are damaged are requested from their origin again, and no request fails.
func TestDamagedObjects(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	stored := s.store(t, 60)
	for i, path := range s.objects(t) {
		switch i % 3 {
		case 0:
			must(t, os.WriteFile(path, []byte(strings.Repeat("garbage ", 3000)), 0o600))
		case 1:
			must(t, os.Truncate(path, 0))
		default: // The others are good.
		}
	}
	must(t, s.purged[1].Drop(time.Now()))
	for _, path := range stored {
		if err := s.check(t.Context(), path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	again := 0
	for i := range stored {
		again += len(s.origin.received(fmt.Sprintf("/stored/%d", i))) - 1
	}
	if again != 40 {
		t.Errorf("with 40 damaged files, %d objects were requested again", again)
	}
}

// TestLostPurges: while it is not known what was purged, no request fails, and nothing that is stored is the answer.
func TestLostPurges(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	stored := s.store(t, 20)
	load := s.startClients(t, stored)
	edge := filepath.Join(filepath.Dir(s.logs[1]), "cache", instanceapi.DirPurged)
	for _, dir := range []string{filepath.Join(s.volume, instanceapi.DirPurged), edge} {
		must(t, os.RemoveAll(dir))
		must(t, os.WriteFile(dir, []byte("garbage"), 0o600))
	}
	time.Sleep(100 * time.Millisecond)
	before := len(s.origin.received("/stored/0"))
	must(t, s.check(t.Context(), stored[0]))
	if after := len(s.origin.received("/stored/0")); after <= before {
		t.Error("a stored object is the answer")
	}
	if requests := load.stop(); len(load.failed) > 0 {
		t.Errorf("of %d requests, %d failed: %s", requests, len(load.failed), load.failed[0])
	}
}

// TestEndingShard: no request fails when a shard ends, not even one that it has begun to answer.
func TestEndingShard(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	var group sync.WaitGroup
	var failed atomic.Pointer[string]
	for worker := range 16 {
		group.Go(func() {
			for n := range 150 {
				path := fmt.Sprintf("/new/%d/%d?size=20000", worker, n)
				if err := s.check(t.Context(), path); err != nil {
					failed.Store(new(fmt.Sprintf("%s: %v", path, err)))
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	must(t, s.shard.Process.Signal(syscall.SIGQUIT))
	group.Wait()
	if text := failed.Load(); text != nil {
		t.Error(*text)
	}
}

// TestFullZones: no request fails while the caches have no room for the key of one more object, and several workers make room at
// the same time.
func TestFullZones(t *testing.T) {
	t.Parallel()
	s := &tiers{origin: newOrigin(t), fullZones: true, workers: 4}
	s.start(t, declare(func(spec *v1alpha1.NginxCacheSpec) {
		spec.Rules = []v1alpha1.Rule{{Match: v1alpha1.Match{PathPrefix: new("/slices/")}, Slice: new(resource.MustParse("64Ki"))}}
	}), map[string]string{"shard.test": freePorts(t, 1)[0]})
	const each = 150
	var group sync.WaitGroup
	var failed atomic.Int64
	for client := range 32 {
		group.Go(func() {
			for n := range each {
				path := fmt.Sprintf("/%d/%d?size=20000", client, n)
				if n%3 == 0 {
					path = fmt.Sprintf("/slices/%d/%d", client, n)
					s.origin.setFile(path, file{etag: `"1"`, body: "1 " + strings.Repeat("x", 20000)})
				}
				if err := s.check(t.Context(), path); err != nil {
					failed.Add(1)
					t.Logf("%s: %v", path, err)
				}
			}
		})
	}
	group.Wait()
	if n := failed.Load(); n > 0 {
		t.Errorf("of %d requests, %d failed", 32*each, n)
	}
}
