package store

import (
	"context"
	"errors"
	"fmt"
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
)

// volume is a mounted claim.
type volume struct {
	// root is where it is mounted, folder the location's.
	root, folder string
}

// temporary are the names that the Go CDK gives files until they are whole: next to where
// they will be, as a rename works only within a file system.
var temporary = regexp.MustCompile(`\.[0-9a-f]{15,16}\.tmp$`)

// abandoned is how old a temporary file has to be for its writer to be gone. One that lives
// writes now and then, in another pod perhaps.
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

// upload writes a file so that it is whole and on the disk when it has its name.
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

// persist writes down the names in a folder, and in those above it that were perhaps made for
// it.
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

// sweep removes what writers left that died. What cannot be removed stays: it is in no
// listing, and must not keep a backup from being made.
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

// list goes through the files whose keys begin with a prefix, in the order of their keys, until
// yield returns false. The Go CDK's own way leaves out folders that it cannot read, and of more
// than 1,000 files some whose folders' names begin alike.
func (v *volume) list(ctx context.Context, prefix string, yield func(Object) bool) error {
	if _, err := os.ReadDir(v.root); err != nil {
		return err
	}
	folder, _ := path.Split(prefix)
	_, err := v.walk(ctx, strings.TrimSuffix(folder, "/"), prefix, yield)
	return err
}

// walk goes through a folder. It tells whether to go on after it.
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
			more, err = tell(entry, key, yield)
		}
		if !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

// keyOf is what sorts an entry of a folder as the keys below it do.
func keyOf(entry fs.DirEntry) string {
	if entry.IsDir() {
		return entry.Name() + "/"
	}
	return entry.Name()
}

// tell yields a file, if it is still there.
func tell(entry fs.DirEntry, key string, yield func(Object) bool) (bool, error) {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return yield(Object{Key: key, Size: info.Size(), Modified: info.ModTime()}), nil
}
