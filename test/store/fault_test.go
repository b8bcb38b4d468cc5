//go:build store

package store_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

// everyOperation runs all operations and checks the kinds of their errors.
func everyOperation(t *testing.T, s *store.Store, want store.Kind) {
	t.Helper()
	operations := map[string]func() error{
		"write":       func() error { return s.Write(t.Context(), "x", 0, writing([]byte("x"))) },
		"write large": func() error { return s.Write(t.Context(), "x", 0, writing(random(20<<20))) },
		"create":      func() error { return s.Create(t.Context(), "y", 0, writing([]byte("x"))) },
		"open": func() error {
			r, _, err := s.Open(t.Context(), "x")
			if err == nil {
				_ = r.Close()
			}
			return err
		},
		"delete": func() error { return s.Delete(t.Context(), "x") },
		"list": func() error {
			for _, err := range s.List(t.Context(), "") {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	t.Run("operations", func(t *testing.T) {
		for name, do := range operations {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				start := time.Now()
				err := do()
				// Three attempts with pauses, or one that stalls.
				if took := time.Since(start); took > 15*time.Second {
					t.Errorf("it took %s", took)
				}
				wantKind(t, err, want)
				if e, ok := errors.AsType[*store.Error](err); want == store.NotFound && (!ok || !e.BucketMissing) {
					t.Errorf("the bucket is not said to be missing: %v", err)
				}
				t.Log(err)
			})
		}
	})
}

func TestServerDown(t *testing.T) {
	t.Parallel()
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	everyOperation(t, s3Store(t, "http://"+address, "bucket"), store.Unavailable)
}

func TestUnknownHost(t *testing.T) {
	t.Parallel()
	everyOperation(t, s3Store(t, "http://s3.invalid", "bucket"), store.Unavailable)
}

func TestMissingBucket(t *testing.T) {
	t.Parallel()
	everyOperation(t, s3Store(t, s3.url, "no-such-bucket"), store.NotFound)
}

func TestWrongCredentials(t *testing.T) {
	name, _ := bucket(t)
	t.Run("secret", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "another-secret-of-the-tests")
		everyOperation(t, s3Store(t, s3.url, name), store.Denied)
	})
	t.Run("id", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "AKIDUNKNOWN")
		everyOperation(t, s3Store(t, s3.url, name), store.Denied)
	})
	t.Run("none", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		t.Setenv("HOME", t.TempDir())
		l, err := location.Parse("s3://" + name + "?endpoint=" + s3.url)
		if err != nil {
			t.Fatal(err)
		}
		_, err = store.Open(t.Context(), l, store.Options{})
		wantKind(t, err, store.Denied)
		if err == nil || !strings.Contains(err.Error(), "put AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY into the Secret") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestHangingServer: a server that accepts connections but never responds is unavailable.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s := open(t, s3Location("http://"+listener.Addr().String(), "bucket"), store.Options{IdleTimeout: idle})
	start := time.Now()
	wantKind(t, s.Delete(t.Context(), "x"), store.Unavailable)
	if took := time.Since(start); took < idle {
		t.Errorf("it took %s", took)
	}
	if n := accepted(t, listener); n != 1 {
		t.Errorf("it has connected %d times: a stall is not retried", n)
	}
	everyOperation(t, s, store.Unavailable)
}

// accepted returns the number of connections that wait at a listener.
func accepted(t *testing.T, listener net.Listener) (n int) {
	t.Helper()
	if err := listener.(*net.TCPListener).SetDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	for ; ; n++ {
		conn, err := listener.Accept()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func TestStallInAnUpload(t *testing.T) {
	t.Parallel()
	name, _ := bucket(t)
	s := open(t, s3Location(newLine(t, 22<<20, true).url, name), store.Options{IdleTimeout: idle})
	start := time.Now()
	err := s.Write(t.Context(), "x", 0, writing(random(40<<20)))
	wantKind(t, err, store.Unavailable)
	// The parts cannot be removed over the same line.
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if got := keysOf(t, s3Store(t, s3.url, name), ""); got != nil {
		t.Errorf("there are %v", got)
	}
}

// TestCutInAnUpload: a connection that is cut for good makes the upload fail, and so do all
// retries.
func TestCutInAnUpload(t *testing.T) {
	t.Parallel()
	for _, size := range []int{8 << 20, 40 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			name, _ := bucket(t)
			s := s3Store(t, newLine(t, int64(size/2), false).url, name)
			wantKind(t, s.Write(t.Context(), "x", 0, writing(random(size))), store.Unavailable)
			if got := keysOf(t, s3Store(t, s3.url, name), ""); got != nil {
				t.Errorf("there are %v", got)
			}
		})
	}
}

// TestCutOnce: an upload succeeds if the connection is restored.
func TestCutOnce(t *testing.T) {
	t.Parallel()
	name, _ := bucket(t)
	l := newLine(t, 30<<20, false)
	s := s3Store(t, l.url, name)
	data := random(40 << 20)
	err := s.Write(t.Context(), "x", 0, func(w io.Writer) error {
		if _, err := w.Write(data[:39<<20]); err != nil {
			return err
		}
		// By now the connection has been cut, within the second part.
		l.left.Store(-1)
		_, err := w.Write(data[39<<20:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantObject(t, s, "x", data)
}

func TestCutInADownload(t *testing.T) {
	t.Parallel()
	name, _ := bucket(t)
	l := newLine(t, -1, false)
	s := s3Store(t, l.url, name)
	put(t, s, "x", random(30<<20))
	r, _, err := s.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatal(err)
	}
	l.cut()
	_, err = io.Copy(io.Discard, r)
	wantKind(t, err, store.Unavailable)
	t.Log(err)
}

// TestSlowLine: a transfer that moves a little from time to time succeeds, even if it takes longer
// than a store may stall.
func TestSlowLine(t *testing.T) {
	t.Parallel()
	name, _ := bucket(t)
	url := answering(t, func(_ http.ResponseWriter, r *http.Request) bool {
		r.Body = struct {
			io.Reader
			io.Closer
		}{&slowly{from: r.Body}, r.Body}
		return false
	})
	s := open(t, s3Location(url, name), store.Options{IdleTimeout: idle})
	data := random(1 << 20)
	start := time.Now()
	put(t, s, "x", data)
	if took := time.Since(start); took < idle+idle/2 {
		t.Errorf("the line was not slow: %s", took)
	}
	wantObject(t, s, "x", data)
}

type slowly struct{ from io.Reader }

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(idle / 10)
	return s.from.Read(p)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		want   store.Kind
	}{
		{http.StatusInternalServerError, "InternalError", store.Unavailable},
		{http.StatusServiceUnavailable, "SlowDown", store.Unavailable},
		{http.StatusTooManyRequests, "TooManyRequests", store.Unavailable},
		{http.StatusForbidden, "AccessDenied", store.Denied},
		{http.StatusForbidden, "QuotaExceeded", store.Full},
		{http.StatusInsufficientStorage, "XMinioStorageFull", store.Full},
		{http.StatusBadRequest, "InvalidRequest", store.Other},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			name, _ := bucket(t)
			url := answering(t, func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPut && refuse(w, r, c.status, c.code, "what "+accessKey+" wants\nis refused"+strings.Repeat(".", 1000))
			})
			s := s3Store(t, url, name)
			for _, size := range []int{10, 20 << 20} {
				err := s.Write(t.Context(), "x", 0, writing(random(size)))
				wantKind(t, err, c.want)
				if err == nil || len(err.Error()) > 600 || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), c.code+": what … wants is refused") {
					t.Errorf("the error is %v", err)
				}
			}
			if got := keysOf(t, s, ""); got != nil {
				t.Errorf("there are %v", got)
			}
		})
	}
}

// TestRecovers: an operation succeeds if the server recovers before the client gives up.
func TestRecovers(t *testing.T) {
	t.Parallel()
	name, _ := bucket(t)
	var refused atomic.Int64
	url := answering(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch refused.Add(1) % 3 {
		case 1:
			return refuse(w, r, http.StatusServiceUnavailable, "SlowDown", "later")
		case 2:
			return refuse(w, r, http.StatusInternalServerError, "InternalError", "oh")
		default:
			return false
		}
	})
	s := s3Store(t, url, name)
	put(t, s, "x", []byte("x"))
	wantObject(t, s, "x", []byte("x"))
}

// TestPartsOfAFailure: the parts of a failed upload are removed.
func TestPartsOfAFailure(t *testing.T) {
	t.Parallel()
	name, folder := bucket(t)
	var puts atomic.Int64
	url := answering(t, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPut && puts.Add(1) > 1 && refuse(w, r, http.StatusForbidden, "AccessDenied", "no more")
	})
	wantKind(t, s3Store(t, url, name).Write(t.Context(), "x", 0, writing(random(60<<20))), store.Denied)
	wantFiles(t, folder)
}

// TestTemporaryFileOfAKilledWriter: the temporary file of a dead process appears in no listing, and is
// removed when it is old.
func TestTemporaryFileOfAKilledWriter(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := open(t, "pvc://claim", store.Options{PVCRoot: root})
	put(t, s, "a/x", nil)
	for name, age := range map[string]time.Duration{"a/old.18a1f0e2b3c4d5e6.tmp": 25 * time.Hour, "a/young.18a1f0e2b3c4d5e6.tmp": time.Hour} {
		path := root + "/" + name
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if got := keysOf(t, s, ""); len(got) != 1 || got[0] != "a/x" {
		t.Errorf("there are %v", got)
	}
	put(t, s, "y", nil)
	wantFiles(t, root, "a/x", "a/young.18a1f0e2b3c4d5e6.tmp", "y")
}
