package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/internal/backup/location"
)

// TestVolumeOrder: a volume is listed in the order of the keys, like any store, whatever the number
// of files and the names of their folders.
func TestVolumeOrder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var want []string
	for _, folder := range []string{"shop/web", "shop/web-1", "shop/web.2", "shop/web/a", "shop-2/web", "shop"} {
		must.Succeed(t, os.MkdirAll(filepath.Join(root, "folder", folder), 0o700))
		for i := range 700 {
			key := fmt.Sprintf("%s/%04d", folder, i)
			must.Succeed(t, os.WriteFile(filepath.Join(root, "folder", key), nil, 0o600))
			want = append(want, key)
		}
	}
	must.Succeed(t, os.WriteFile(filepath.Join(root, "folder/shop/x.0123456789abcdef.tmp"), nil, 0o600))
	must.Succeed(t, os.Symlink("/etc", filepath.Join(root, "folder/shop/link")))
	slices.Sort(want)
	s := openVolume(t, root)
	for _, prefix := range []string{"", "shop", "shop/", "shop/web", "shop/web/", "shop/web/a/06", "nothing/"} {
		within := slices.DeleteFunc(slices.Clone(want), func(key string) bool { return len(key) < len(prefix) || key[:len(prefix)] != prefix })
		var got []string
		for o, err := range s.List(t.Context(), prefix) {
			must.Succeed(t, err)
			got = append(got, o.Key)
		}
		if !slices.Equal(got, within) {
			t.Errorf("below %q there are %d, want %d in their order", prefix, len(got), len(within))
		}
	}
	for o, err := range s.List(t.Context(), "") {
		must.Succeed(t, err)
		if o.Key != want[0] {
			t.Errorf("the first is %s", o.Key)
		}
		break
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range s.List(ended, "") {
		if err == nil {
			t.Error("it is listed although nobody waits any more")
		}
	}
}

func openVolume(t *testing.T, root string) *Store {
	t.Helper()
	l, err := location.Parse("pvc://claim/folder")
	must.Succeed(t, err)
	s, err := Open(t.Context(), l, Options{PVCRoot: root})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Succeed(t, s.Close()) })
	return s
}

// TestVolumeKeys: an object is listed under the key under which it was written.
func TestVolumeKeys(t *testing.T) {
	t.Parallel()
	s := openVolume(t, t.TempDir())
	keys := []string{"a b/ä", "a/b?c*d", "a/b__0x"}
	for _, key := range keys {
		must.Succeed(t, s.Create(t.Context(), key, 1, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }))
	}
	var got []string
	for o, err := range s.List(t.Context(), "") {
		must.Succeed(t, err)
		got = append(got, o.Key)
	}
	if !slices.Equal(got, slices.Sorted(slices.Values(keys))) {
		t.Errorf("listed: %q", got)
	}
}

// TestVolumeFiles: only regular files of the claim are read. Nothing else blocks a job, or leads out of the claim.
func TestVolumeFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, "folder", name) }
	must.Succeed(t, os.MkdirAll(at("directory"), 0o700))
	must.Succeed(t, os.WriteFile(at("good"), []byte("good"), 0o600))
	must.Succeed(t, os.WriteFile(at("good.attrs"), []byte("nonsense"), 0o600))
	must.Succeed(t, unix.Mkfifo(at("fifo"), 0o600))
	must.Succeed(t, os.Symlink("good", at("inside")))
	must.Succeed(t, os.Symlink("fifo", at("to-fifo")))
	must.Succeed(t, os.Symlink("/etc/hostname", at("outside")))
	s := openVolume(t, root)
	for name, want := range map[string]Kind{
		"good": "", "inside": "", "fifo": Other, "to-fifo": Other, "outside": Other, "directory": Other, "missing": NotFound,
	} {
		r, size, err := s.Open(t.Context(), name)
		if KindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		text, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil || string(text) != "good" || size != 4 {
			t.Errorf("%s: %v, %q of %d bytes", name, err, text, size)
		}
	}
}
