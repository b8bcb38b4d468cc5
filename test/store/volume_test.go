//go:build store

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/store"
)

// mounted mounts a small file system, which only root can do.
func mounted(t *testing.T, options string) string {
	t.Helper()
	root := t.TempDir()
	if err := unix.Mount("store-test", root, "tmpfs", 0, options); err != nil {
		t.Fatalf("these tests mount file systems, run them as root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return root
}

func TestFullVolume(t *testing.T) {
	t.Parallel()
	root := mounted(t, "size=1m")
	s := open(t, "pvc://claim/folder", store.Options{PVCRoot: root})
	put(t, s, "small", []byte("x"))
	err := s.Write(t.Context(), "large", 0, writing(random(2<<20)))
	wantKind(t, err, store.Full)
	t.Log(err)
	wantFiles(t, root, "folder/small")
	// There is free space again.
	put(t, s, "next", random(512<<10))
}

func TestReadOnlyVolume(t *testing.T) {
	t.Parallel()
	root := mounted(t, "size=1m")
	s := open(t, "pvc://claim/folder", store.Options{PVCRoot: root})
	put(t, s, "x", []byte("x"))
	if err := unix.Mount("store-test", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	err := s.Write(t.Context(), "y", 0, writing([]byte("y")))
	wantKind(t, err, store.Denied)
	t.Log(err)
	wantKind(t, s.Delete(t.Context(), "x"), store.Denied)
	wantObject(t, s, "x", []byte("x"))
	if got := keysOf(t, s, ""); len(got) != 1 {
		t.Errorf("there are %v", got)
	}
	// A folder that does not exist is listed as empty and is not created.
	if got := keysOf(t, open(t, "pvc://claim/other", store.Options{PVCRoot: root}), ""); got != nil {
		t.Errorf("there are %v", got)
	}
}

func TestVolumeThatIsNotMounted(t *testing.T) {
	t.Parallel()
	l, err := location.Parse("pvc://claim")
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), l, store.Options{PVCRoot: filepath.Join(t.TempDir(), "nothing")})
	wantKind(t, err, store.NotFound)
	if e, ok := errors.AsType[*store.Error](err); !ok || !e.BucketMissing {
		t.Errorf("the claim is not said to be missing: %v", err)
	}
	t.Log(err)
}

// TestFolderIsAFile: a file in place of the folder, which another user of the volume has created,
// is an error.
func TestFolderIsAFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "folder"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, "pvc://claim/folder", store.Options{PVCRoot: root})
	err := s.Write(t.Context(), "x", 0, writing(nil))
	wantKind(t, err, store.Other)
	t.Log(err)
	for _, err := range s.List(t.Context(), "") {
		wantKind(t, err, store.Other)
	}
}
