package volumes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// folder is the directory below which the volumes of a node are mounted.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// ensure mounts a volume, or makes it larger if it is smaller than size bytes.
func (f folder) ensure(name string, size int64) error {
	path := f.path(name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	var parent, own unix.Stat_t
	var usage unix.Statfs_t
	if err := errors.Join(unix.Stat(string(f), &parent), unix.Stat(path, &own), unix.Statfs(path, &usage)); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	// A remount without these flags would clear them.
	flags, options := uintptr(unix.MS_NOSUID|unix.MS_NODEV), fmt.Sprintf("size=%d", size)
	switch {
	case own.Dev == parent.Dev: // It is not mounted yet.
		// Only its size limits a volume, not the number of files. Its root belongs to root, as on a
		// new disk; the kubelet applies fsGroup.
		options += ",nr_inodes=0,mode=0755"
	case int64(usage.Blocks)*usage.Bsize < size:
		flags |= unix.MS_REMOUNT
	default:
		return nil
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", flags, options); err != nil {
		return fmt.Errorf("mounting %s with %s: %w", path, options, err)
	}
	return nil
}

// remove unmounts a volume, which discards its contents, and removes its mount point.
func (f folder) remove(name string) error {
	path := f.path(name)
	// EINVAL means that it is not mounted.
	if err := unix.Unmount(path, 0); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmounting %s: %w", path, err)
	}
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
