//go:build store

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/backup/store"
)

// TestConformance: all stores behave the same.
func TestConformance(t *testing.T) {
	stores := map[string]func(t *testing.T, idle time.Duration) (s *store.Store, folder string){
		"s3": func(t *testing.T, idle time.Duration) (*store.Store, string) {
			name, folder := bucket(t)
			return open(t, s3Location(s3.url, name), store.Options{IdleTimeout: idle}), folder
		},
		"pvc": func(t *testing.T, idle time.Duration) (*store.Store, string) {
			root := t.TempDir()
			return open(t, "pvc://claim/a/folder", store.Options{PVCRoot: root, IdleTimeout: idle}), root
		},
	}
	cases := map[string]func(t *testing.T, s *store.Store, folder string){
		"round trip": roundTrip, "empty object": emptyObject, "large object": largeObject,
		"overwrite": overwrite, "create": create, "list": list, "list nothing": listNothing,
		"delete": deleteObject, "missing": missing, "bad keys": badKeys,
		"writer fails at once": failsAfter(0), "writer fails": failsAfter(1000), "writer fails late": failsAfter(40 << 20),
		"writer ends like a file": endsLikeAFile, "writer swallows": swallows,
		"cancelled": cancelled, "cancelled late": cancelledLate, "slow writer": slowWriter, "slow reader": slowReader,
	}
	for _, kind := range slices.Sorted(maps.Keys(stores)) {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				mayStall := patience
				if strings.HasPrefix(name, "slow ") {
					mayStall = idle
				}
				s, folder := stores[kind](t, mayStall)
				cases[name](t, s, folder)
			})
		}
	}
}

func roundTrip(t *testing.T, s *store.Store, folder string) {
	const key = "web/2026-11-21 10:00+ü.tar"
	put(t, s, key, []byte("hello"))
	wantObject(t, s, key, []byte("hello"))
	// The object is a file in the location's folder, and there are no other files.
	wantFiles(t, folder, "a/folder/"+key)
}

func emptyObject(t *testing.T, s *store.Store, _ string) {
	put(t, s, "empty", nil)
	wantObject(t, s, "empty", nil)
}

func largeObject(t *testing.T, s *store.Store, folder string) {
	data := random(37<<20 + 11)
	put(t, s, "large", data)
	wantObject(t, s, "large", data)
	wantFiles(t, folder, "a/folder/large")
}

func overwrite(t *testing.T, s *store.Store, _ string) {
	put(t, s, "x", []byte("a longer first one"))
	put(t, s, "x", []byte("second"))
	wantObject(t, s, "x", []byte("second"))
}

func create(t *testing.T, s *store.Store, _ string) {
	for _, size := range []int{10, 20 << 20} {
		key := fmt.Sprintf("x-%d", size)
		data := random(size)
		if err := s.Create(t.Context(), key, int64(size), writing(data)); err != nil {
			t.Fatal(err)
		}
		err := s.Create(t.Context(), key, int64(size), func(io.Writer) error {
			t.Error("what exists already is written again")
			return nil
		})
		wantKind(t, err, store.Exists)
		wantObject(t, s, key, data)
		// Another client can be faster.
		err = s.Create(t.Context(), key+"-raced", int64(size), func(w io.Writer) error {
			put(t, s, key+"-raced", []byte("the other's"))
			_, err := w.Write(data)
			return err
		})
		wantKind(t, err, store.Exists)
		wantObject(t, s, key+"-raced", []byte("the other's"))
	}
}

func list(t *testing.T, s *store.Store, _ string) {
	want := map[string]int64{}
	for i := range 30 {
		key := fmt.Sprintf("web/%02d/manifest.json", i)
		want[key] = int64(i)
		put(t, s, key, random(i))
	}
	put(t, s, "webby", nil)
	put(t, s, "other/x", nil)
	got := map[string]int64{}
	var keys []string
	for o, err := range s.List(t.Context(), "web/") {
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(o.Modified); age < -time.Minute || age > time.Minute {
			t.Errorf("%s was modified at %s", o.Key, o.Modified)
		}
		got[o.Key] = o.Size
		keys = append(keys, o.Key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSorted(keys) {
		t.Errorf("the order is %v", keys)
	}
	if got := keysOf(t, s, "web/03"); !slices.Equal(got, []string{"web/03/manifest.json"}) {
		t.Errorf("of a prefix within a name there are %v", got)
	}
	for _, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func listNothing(t *testing.T, s *store.Store, _ string) {
	if got := keysOf(t, s, ""); got != nil {
		t.Errorf("an empty store has %v", got)
	}
	if got := keysOf(t, s, "a/b"); got != nil {
		t.Errorf("an empty store has %v", got)
	}
}

func deleteObject(t *testing.T, s *store.Store, _ string) {
	put(t, s, "a/x", []byte("x"))
	put(t, s, "a/y", []byte("y"))
	for range 2 {
		if err := s.Delete(t.Context(), "a/x"); err != nil {
			t.Fatal(err)
		}
	}
	if got := keysOf(t, s, ""); !slices.Equal(got, []string{"a/y"}) {
		t.Errorf("there are %v", got)
	}
}

func missing(t *testing.T, s *store.Store, _ string) {
	_, _, err := s.Open(t.Context(), "nothing/here")
	wantKind(t, err, store.NotFound)
	if e, ok := errors.AsType[*store.Error](err); !ok || e.BucketMissing {
		t.Errorf("the bucket is said to be missing: %v", err)
	}
}

func badKeys(t *testing.T, s *store.Store, _ string) {
	for _, key := range []string{"", ".", "..", "../x", "a/../../x", "/x", "x/", "a//b", "x.attrs", "x.18a1f0e2b3c4d5e6.tmp"} {
		wantKind(t, s.Write(t.Context(), key, 0, writing(nil)), store.Other)
		_, _, err := s.Open(t.Context(), key)
		wantKind(t, err, store.Other)
		wantKind(t, s.Delete(t.Context(), key), store.Other)
	}
}

var errWriter = errors.New("the writer's own")

// failsAfter returns a test of a writer that fails after it has written size bytes: the existing
// object stays unchanged.
func failsAfter(size int) func(*testing.T, *store.Store, string) {
	return func(t *testing.T, s *store.Store, folder string) {
		put(t, s, "x", []byte("before"))
		err := s.Write(t.Context(), "x", int64(size), func(w io.Writer) error {
			if _, err := w.Write(random(size)); err != nil {
				return err
			}
			return errWriter
		})
		if !errors.Is(err, errWriter) || store.KindOf(err) != store.Other {
			t.Errorf("the error is %v", err)
		}
		wantObject(t, s, "x", []byte("before"))
		wantFiles(t, folder, "a/folder/x")
	}
}

// endsLikeAFile tests a writer whose error could be taken for the end of the data.
func endsLikeAFile(t *testing.T, s *store.Store, folder string) {
	err := s.Write(t.Context(), "x", 0, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return io.EOF
	})
	if !errors.Is(err, io.EOF) {
		t.Errorf("the error is %v", err)
	}
	wantFiles(t, folder)
}

// swallows tests a writer that does not report that its context ended.
func swallows(t *testing.T, s *store.Store, folder string) {
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Write(ctx, "x", 0, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		cancel()
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return nil //nolint:nilerr // this is what the case is about
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	wantFiles(t, folder)
}

func cancelled(t *testing.T, s *store.Store, folder string) { cancelAfter(t, s, folder, 100) }

func cancelledLate(t *testing.T, s *store.Store, folder string) { cancelAfter(t, s, folder, 40<<20) }

func cancelAfter(t *testing.T, s *store.Store, folder string, size int) {
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Write(ctx, "x", int64(size), func(w io.Writer) error {
		_, err := w.Write(random(size))
		cancel()
		<-ctx.Done()
		if err == nil {
			// The writer stops here and writes nothing more.
			err = context.Cause(ctx)
		}
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	wantFiles(t, folder)
}

// slowWriter tests a writer that pauses for longer than a store may stall: it is not the store that
// stalls.
func slowWriter(t *testing.T, s *store.Store, _ string) {
	data := random(40 << 20)
	err := s.Write(t.Context(), "x", 0, func(w io.Writer) error {
		for _, part := range [][]byte{data[:20<<20], data[20<<20:]} {
			if _, err := w.Write(part); err != nil {
				return err
			}
			time.Sleep(idle + idle/2)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	wantObject(t, s, "x", data)
}

func slowReader(t *testing.T, s *store.Store, _ string) {
	data := random(20 << 20)
	put(t, s, "x", data)
	r, _, err := s.Open(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	head := make([]byte, 1<<10)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	time.Sleep(idle + idle/2)
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(slices.Concat(head, rest), data) {
		t.Error("it has changed")
	}
}

func put(t *testing.T, s *store.Store, key string, data []byte) {
	t.Helper()
	if err := s.Write(t.Context(), key, int64(len(data)), writing(data)); err != nil {
		t.Fatal(err)
	}
}

func writing(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func random(size int) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(data)
	return data
}

func wantObject(t *testing.T, s *store.Store, key string, want []byte) {
	t.Helper()
	r, size, err := s.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got, want) || size != int64(len(want)) {
		t.Errorf("%s has %d bytes and size %d, want other %d", key, len(got), size, len(want))
	}
}

func keysOf(t *testing.T, s *store.Store, prefix string) (keys []string) {
	t.Helper()
	for o, err := range s.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// wantFiles fails the test unless the store's folder holds exactly the wanted files. No parts of
// uploads may remain.
func wantFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		// The server's own folder holds parts of uploads and lock files.
		if err != nil || entry.IsDir() || strings.Contains(path, ".lock") {
			return err
		}
		name, err := filepath.Rel(folder, path)
		got = append(got, name)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other files, -want +got:\n%s", diff)
	}
}
