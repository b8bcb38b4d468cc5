package volumes

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"
)

// kubelet writes a folder as the kubelet does: a new folder with the files, a link that is switched
// to it, and a link for each file.
type kubelet struct {
	t     *testing.T
	dir   string
	count int
}

func (k *kubelet) publish(files map[string]string) {
	k.t.Helper()
	k.count++
	version := "..version" + strconv.Itoa(k.count)
	folder := filepath.Join(k.dir, version)
	k.must(os.Mkdir(folder, 0o755))
	for name, text := range files {
		k.must(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	link := filepath.Join(k.dir, "..data_tmp")
	k.must(os.Symlink(version, link))
	before := Version(k.dir)
	k.must(os.Rename(link, filepath.Join(k.dir, data)))
	for name := range files {
		if err := os.Symlink(filepath.Join(data, name), filepath.Join(k.dir, name)); !os.IsExist(err) {
			k.must(err)
		}
	}
	if before != "" {
		k.must(os.RemoveAll(filepath.Join(k.dir, before)))
	}
}

// must is safe for concurrent use.
func (k *kubelet) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Error(err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	k := &kubelet{t: t, dir: dir}
	one := map[string]string{"a.conf": "one", "b.conf": "", "c": "\x00\xff"}
	k.publish(one)
	must := k.must
	must(os.Mkdir(filepath.Join(dir, "folder"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "huge"), make([]byte, maxFile+1), 0o644))
	got, err := Read(dir)
	if diff := cmp.Diff(one, got); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
	first := Version(dir)
	k.publish(map[string]string{"a.conf": "two", "b.conf": "", "c": ""})
	if got, err = Read(dir); err != nil || got["a.conf"] != "two" {
		t.Errorf("after a switch: %v (%v)", got, err)
	}
	if first == "" || Version(dir) == first {
		t.Errorf("version %q after %q", Version(dir), first)
	}
}

// TestReadBeforeTheLinks: the kubelet switches ..data before it creates the links of new files. A
// read in between must not miss them, because no later read has another version.
func TestReadBeforeTheLinks(t *testing.T) {
	dir := t.TempDir()
	k := &kubelet{t: t, dir: dir}
	files := map[string]string{"a.conf": "one", "b.conf": "two"}
	k.publish(files)
	k.must(os.Remove(filepath.Join(dir, "b.conf")))
	got, err := Read(dir)
	if diff := cmp.Diff(files, got); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
}

func TestReadWithoutAKubelet(t *testing.T) {
	dir := t.TempDir()
	if files, err := Read(filepath.Join(dir, "none")); err != nil || len(files) != 0 {
		t.Errorf("a folder that is not there has %v (%v)", files, err)
	}
	plain := filepath.Join(dir, "a.conf")
	if err := os.WriteFile(plain, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if files, err := Read(dir); err != nil || files["a.conf"] != "text" || Version(dir) != "" {
		t.Errorf("a plain folder has %v (%v), version %q", files, err, Version(dir))
	}
	if _, err := Read(plain); err == nil {
		t.Error("a file was read as a folder")
	}
	if err := os.Symlink("gone", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "dangling") {
		t.Errorf("error %v about a link to nowhere", err)
	}
}

// TestReadIsOfOneVersion: a read while the folder is switched never returns files of two versions.
func TestReadIsOfOneVersion(t *testing.T) {
	dir := t.TempDir()
	k := &kubelet{t: t, dir: dir}
	publish := func(n int) {
		text := strconv.Itoa(n)
		k.publish(map[string]string{"a": text, "b": text, "c": text})
	}
	publish(0)
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				publish(n)
			}
		}
	})
	read := 0
	for range 2000 {
		files, err := Read(dir)
		if err != nil {
			continue // It changed during all attempts.
		}
		read++
		if len(files) != 3 || files["a"] != files["b"] || files["b"] != files["c"] {
			t.Errorf("the files are %v", files)
			break
		}
	}
	close(stop)
	group.Wait()
	if read == 0 {
		t.Error("the folder was never read")
	}
}

func TestWatch(t *testing.T) {
	full := func() (*fsnotify.Watcher, error) { return nil, syscall.EMFILE }
	for name, newWatcher := range map[string]func() (*fsnotify.Watcher, error){
		"inotify": fsnotify.NewWatcher,
		// Other pods of the user on the node have taken all instances.
		"no inotify instance is left": full,
	} {
		t.Run(name, func(t *testing.T) {
			first, second := &kubelet{t: t, dir: t.TempDir()}, &kubelet{t: t, dir: t.TempDir()}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			changed := make(chan struct{}, 1)
			// A missing folder does not keep the others from being watched.
			watch(ctx, []string{first.dir, filepath.Join(first.dir, "none"), second.dir}, changed, newWatcher)
			for _, k := range []*kubelet{first, second, first} {
				k.publish(map[string]string{"a": "text"})
				select {
				case <-changed:
				case <-time.After(10 * time.Second):
					t.Fatal("the change of the folder was not signalled")
				}
				quieten(changed)
			}
		})
	}
}

// quieten waits until there has been no notification for a while.
func quieten(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-time.After(2 * maxPending):
			return
		}
	}
}
