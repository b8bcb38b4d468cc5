package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"golang.org/x/sys/unix"
)

// volume is a mounted claim.
type volume struct {
	// root is the mount point. folder is the folder of the location below it.
	root, folder string
}

// temporary matches the names that the Go CDK gives to files until they are complete. They are
// beside the final ones, since a rename works only within a file system.
var temporary = regexp.MustCompile(`\.[0-9a-f]{15,16}\.tmp$`)

// abandoned is the age at which the writer of a temporary file must have died. A live writer,
// possibly in another pod, writes more often than that.
const abandoned = 24 * time.Hour

const folderMode = 0o750

func (v *volume) open() (*blob.Bucket, error) {
	if !filepath.IsAbs(v.root) {
		return nil, fmt.Errorf("%q is not the absolute path of a folder", v.root)
	}
	return fileblob.OpenBucket(v.root, &fileblob.Options{
		NoTempDir:   true,
		Metadata:    fileblob.MetadataDontWrite,
		DirFileMode: folderMode,
	})
}

// upload writes a file and syncs it to the disk before it gets its name.
func (v *volume) upload(u *upload, bucket *blob.Bucket, key string, options *blob.WriterOptions) error {
	v.sweep(time.Now().Add(-abandoned))
	var file *os.File
	options.BeforeWrite = func(as func(any) bool) error {
		as(&file)
		return nil
	}
	if err := u.copy(bucket, key, options, func() error { return file.Sync() }); err != nil {
		return err
	}
	return v.persist(filepath.Dir(filepath.Join(v.folder, filepath.FromSlash(key))))
}

// read opens a file for reading and returns its size in bytes. Others can write to the claim: the Go CDK would wait for ever for
// a writer of a FIFO, follow links out of the claim, and read a file beside it of any size.
func (v *volume) read(key string) (io.ReadCloser, int64, error) {
	root, err := os.OpenRoot(v.root)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }() // It was only read.
	name, err := filepath.Rel(v.root, filepath.Join(v.folder, filepath.FromSlash(key)))
	if err != nil {
		return nil, 0, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", key)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, info.Size(), nil
}

// persist syncs a folder and those above it that may have been created with it.
func (v *volume) persist(folder string) error {
	for ; strings.HasPrefix(folder, filepath.Clean(v.root)); folder = filepath.Dir(folder) {
		if err := syncFolder(folder); err != nil {
			return err
		}
		if folder == filepath.Clean(v.root) {
			break
		}
	}
	return nil
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close())
}

// sweep deletes the temporary files of dead writers. Errors are ignored: the files are in no
// listing, and must not prevent a backup.
func (v *volume) sweep(before time.Time) {
	_ = filepath.WalkDir(v.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !temporary.MatchString(path) {
			return nil //nolint:nilerr // see above
		}
		if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(path)
		}
		return nil
	})
}

// list iterates over the files whose keys begin with a prefix, in the order of their keys, until
// yield returns false. The Go CDK's own listing omits folders that it cannot read and, with more
// than 1,000 files, some files in folders with a common prefix.
func (v *volume) list(ctx context.Context, prefix string, yield func(Object) bool) error {
	if _, err := os.ReadDir(v.root); err != nil {
		return err
	}
	folder, _ := path.Split(prefix)
	_, err := v.walk(ctx, strings.TrimSuffix(folder, "/"), prefix, yield)
	return err
}

// walk iterates over a folder. It reports whether to continue after it.
func (v *volume) walk(ctx context.Context, folder, prefix string, yield func(Object) bool) (bool, error) {
	entries, err := os.ReadDir(filepath.Join(v.folder, filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		return false, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(keyOf(a), keyOf(b)) })
	for _, entry := range entries {
		key := path.Join(folder, keyOf(entry))
		more := true
		switch {
		case entry.IsDir() && (strings.HasPrefix(key+"/", prefix) || strings.HasPrefix(prefix, key+"/")):
			more, err = v.walk(ctx, key, prefix, yield)
		case entry.Type().IsRegular() && strings.HasPrefix(key, prefix) && !temporary.MatchString(key):
			more, err = yieldFile(entry, key, yield)
		}
		if !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

// keyOf returns the name by which an entry of a folder is sorted, so that keys are in order. That
// of a folder ends with a slash.
func keyOf(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}

// yieldFile yields a file, if it still exists.
func yieldFile(entry fs.DirEntry, key string, yield func(Object) bool) (bool, error) {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return yield(Object{Key: key, Size: info.Size(), Modified: info.ModTime()}), nil
}
