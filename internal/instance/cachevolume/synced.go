package cachevolume

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A node that fails loses what it had not written to the volume yet, and leaves files without their end. nginx would answer
// with these, because it has no checksums. So the volume is synced every syncPause, and what was stored later than that is
// removed if the next instance runs on a kernel that was started since.
const syncPause = time.Minute

// fileSynced is the file on the volume with the boot ID of the kernel, and the time up to which objects are on the disk.
const fileSynced = "synced"

// bootIDFile identifies the run of the kernel.
var bootIDFile = "/proc/sys/kernel/random/boot_id"

// removeUnsynced removes the objects that another run of a kernel may not have written completely. It ends with the error of ctx
// when that is done.
func (v *Volume) removeUnsynced(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(v.dir, fileSynced))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	boot, at, _ := bytes.Cut(bytes.TrimSpace(text), []byte{' '})
	if now, err := bootID(); err == nil && bytes.Equal(boot, now) {
		return nil
	}
	// Without a time, all objects are removed.
	synced, _ := time.Parse(time.RFC3339Nano, string(at))
	removed := 0
	for _, folder := range v.folders() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, name := range names(folder) {
			path := filepath.Join(folder, name)
			if info, err := os.Lstat(path); err != nil || info.ModTime().Before(synced) {
				continue
			}
			if err := os.Remove(path); err != nil {
				slog.Error("cannot remove an object that may be damaged", "file", path, "error", err)
				continue
			}
			removed++
		}
	}
	slog.Info("another kernel has used the volume of the cache: the objects that it may not have written completely are removed", "objects", removed, "synced", synced)
	return nil
}

// sync writes the volume to its disk, and notes that.
func (v *Volume) sync() {
	if err := v.trySync(); err != nil {
		slog.Warn("cannot sync the volume of the cache", "error", err)
	}
}

func (v *Volume) trySync() error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	// A file has the time of its last write. What is written from now on may be lost.
	at := v.now().Add(-time.Second)
	dir, err := os.Open(v.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // it was only read
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return err
	}
	temporary := filepath.Join(v.dir, fileSynced+".new")
	if err := os.WriteFile(temporary, fmt.Appendf(nil, "%s %s\n", boot, at.UTC().Format(time.RFC3339Nano)), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(v.dir, fileSynced))
}

func bootID() ([]byte, error) {
	text, err := os.ReadFile(bootIDFile)
	return bytes.TrimSpace(text), err
}
