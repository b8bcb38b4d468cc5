//go:build instance

package cache

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/nginx-operator/internal/cache/cacheconf"
)

// startTwoShards starts an edge with two shards, which are the same nginx: an edge never marks its only shard as unavailable.
func startTwoShards(t *testing.T, s *tiers) *tiers {
	t.Helper()
	in, port := declare(nil), freePorts(t, 1)[0]
	in.Shards = cacheconf.Peers{"one.test", "two.test"}
	s.origin = newOrigin(t)
	s.start(t, in, map[string]string{"one.test": port, "two.test": port})
	return s
}

// wantShardAnswer checks that a shard answers for a path: the edge has not marked its shards as unavailable.
func (s *tiers) wantShardAnswer(t *testing.T, path string) {
	t.Helper()
	if got := s.get(t, path); !strings.Contains(got.header.Get("Cache-Status"), "one.test; ") {
		t.Errorf("no shard answers for %s: %d (%s)", path, got.status, got.header.Get("Cache-Status"))
	}
}

// TestLargeHeaders: an answer with large headers is passed on or fails, and no shard is marked as unavailable because of it.
func TestLargeHeaders(t *testing.T) {
	t.Parallel()
	s := startTwoShards(t, &tiers{})
	for _, long := range []int{0, 7000} {
		for large := 22_000; large < 34_000; large += 200 {
			name := fmt.Sprintf("/%d/%d", long, large)
			got := s.get(t, fmt.Sprintf("%s?large=%d&long=%s", name, large, strings.Repeat("x", long)))
			if want := http.StatusOK; got.status != want && (large < 32_000 || got.status != http.StatusBadGateway) {
				t.Errorf("a header of %d bytes, and %d in the key: the status is %d", large, long, got.status)
			}
			if n := len(s.origin.received(name)); n != 1 {
				t.Errorf("a header of %d bytes, and %d in the key: the origin received %d requests", large, long, n)
			}
			s.wantShardAnswer(t, "/other"+name)
		}
	}
}

// TestSlowOrigin: an origin that does not answer in time gets no request twice, and no shard is marked as unavailable. Some of the
// requests wait for another one first.
func TestSlowOrigin(t *testing.T) {
	t.Parallel()
	s := startTwoShards(t, &tiers{shortTimeouts: true})
	const clients = 5
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			if got := s.get(t, "/a?delay=30s"); got.status != http.StatusGatewayTimeout {
				t.Errorf("the status is %d", got.status)
			}
		})
	}
	group.Wait()
	if n := len(s.origin.received("/a")); n > clients {
		t.Errorf("the origin received %d requests of %d clients", n, clients)
	}
	s.wantShardAnswer(t, "/other")
}

// TestBrokenAnswers: whatever an origin sends, no shard is marked as unavailable because of it, and the origin gets no request
// twice.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	s := startTwoShards(t, &tiers{})
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	for name, raw := range map[string]string{
		"a chunk of no length":  ok + chunked + "zz\r\na\r\n0\r\n\r\n",
		"a chunk that is huge":  ok + chunked + "ffffffffffffffffff\r\na",
		"a chunk that ends":     ok + chunked + "5\r\na",
		"no last chunk":         ok + chunked + "1\r\na\r\n",
		"a body that ends":      ok + "Content-Length: 10\r\n\r\na",
		"two lengths":           ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na",
		"a length and chunks":   ok + "Content-Length: 1\r\n" + chunked + "1\r\na\r\n0\r\n\r\n",
		"a header with a zero":  ok + "X: a\x00b\r\n\r\na",
		"a header in two lines": ok + "X: a\r\n b\r\n\r\na",
	} {
		path := "/" + strings.ReplaceAll(name, " ", "-")
		for range 2 {
			_, _ = s.try(t, http.MethodGet, with(path, "raw", raw)) // It may break off.
			s.wantShardAnswer(t, fmt.Sprintf("/other%s/%d", path, len(s.origin.received(path))))
		}
		if n := len(s.origin.received(path)); n != 2 {
			t.Errorf("%s: the origin received %d requests instead of 2", name, n)
		}
	}
}

// TestOwnStatuses: an answer with a status that the caches use among themselves is passed on like any other.
func TestOwnStatuses(t *testing.T) {
	t.Parallel()
	s := startSliced(t)
	for _, status := range []int{303, 418, 419, 420, 421, 430, 432, 444} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			name := fmt.Sprintf("/%s/%d", method, status)
			s.origin.setStatus(name, status)
			if got := s.send(t, method, name); got.status != status || len(s.origin.received(name)) != 1 {
				t.Errorf("%s: the status is %d, and the origin received %d requests", name, got.status, len(s.origin.received(name)))
			}
		}
	}
}

// TestOriginOfTwoAddresses: an answer that the origin breaks off does not mark its addresses as unavailable.
func TestOriginOfTwoAddresses(t *testing.T) {
	t.Parallel()
	s := &tiers{origin: newOrigin(t)}
	s.origin.listenAlso(t)
	s.start(t, declare(nil), map[string]string{"shard.test": freePorts(t, 1)[0]})
	for n := range 5 {
		if got := s.get(t, fmt.Sprintf("/bad/%d?raw=HTTP/1.1", n)); got.status != http.StatusBadGateway {
			t.Errorf("an answer that is broken off: the status is %d", got.status)
		}
		if got := s.get(t, fmt.Sprintf("/good/%d", n)); got.status != http.StatusOK {
			t.Errorf("the next request: the status is %d", got.status)
		}
	}
}

// TestUploads: a body reaches the origin while the client sends it, so no disk has to hold it.
func TestUploads(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodGet} {
		body, more := io.Pipe()
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.edge+"/"+method, body)
		must(t, err)
		answered := make(chan string)
		go func() {
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				answered <- err.Error()
				return
			}
			defer func() { _ = response.Body.Close() }() // It was read.
			text, _ := io.ReadAll(response.Body)         // What is missing shows in the length.
			answered <- fmt.Sprint(response.StatusCode, " ", strings.Count(string(text), "x"))
		}()
		const part = 1 << 20
		_, err = io.WriteString(more, strings.Repeat("x", part))
		must(t, err)
		poll().Eventually(t, "the origin has a part of a "+method, func() error {
			if len(s.origin.received("/"+method)) == 0 {
				return errors.New("it has received nothing")
			}
			return nil
		})
		_, err = io.WriteString(more, strings.Repeat("x", part))
		must(t, err)
		must(t, more.Close())
		if got, want := <-answered, fmt.Sprint(http.StatusOK, " ", 2*part); got != want {
			t.Errorf("%s: the answer is %q, want %q", method, got, want)
		}
	}
}

// TestSlowClients: an answer that an edge does not store waits in the shard for a client that does not read it, and not on the
// disk of the edge.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const size = 64 << 20
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/a?size=%d", s.edge, size), nil)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }() // What is left does not matter.
	poll().Eventually(t, "the shard has stored the object", func() error {
		if files := s.objects(t); len(files) != 1 || strings.Contains(files[0], ".0") {
			return fmt.Errorf("it has %q", files)
		}
		return nil
	})
	// Such a file has no name.
	open, err := filepath.Glob("/proc/[0-9]*/fd/*")
	must(t, err)
	for _, descriptor := range open {
		if file, err := os.Readlink(descriptor); err == nil && strings.HasPrefix(file, s.tempDir) {
			t.Errorf("the edge has the file %s", file)
		}
	}
	if n, err := io.Copy(io.Discard, response.Body); err != nil || n < size {
		t.Errorf("%d bytes: %v", n, err)
	}
}
