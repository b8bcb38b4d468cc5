// Package userfile reads files that a user names: regular files only, without following a link out of the folder that the
// user names, and with bounds on what is read.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// MaxBytes bounds a file with manifests or the standard input, in bytes.
const MaxBytes = 64 << 20

// maxLinks bounds how many links lead to a file, as Linux does.
const maxLinks = 40

// Bounds of a folder and the folders in it.
const (
	maxEntries = 100_000
	maxDepth   = 32
)

// ErrOutside is returned for a link that leads out of its folder.
var ErrOutside = errors.New("the link leads out of the folder")

// ErrNotRegular is returned for a device, a pipe, a socket and anything else that has no end or no content of its own.
var ErrNotRegular = errors.New("it is a device, a pipe or a socket, and not a file")

// ErrTooLarge is returned for content with more bytes than the reader takes.
var ErrTooLarge = errors.New("the file is too large")

// ReadAll reads at most a number of bytes. Longer content is an error.
func ReadAll(r io.Reader, name string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%w: %s is larger than %d KiB", ErrTooLarge, name, most>>10)
	}
	return text, nil
}

// ReadFile reads the file that a user names, of at most a number of bytes. The path itself may be a link.
func ReadFile(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	// A shell passes the output of a command as a pipe, which is open already.
	passed := info.Mode().Type() == fs.ModeNamedPipe && (strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/") || name == "/dev/stdin")
	if !info.Mode().IsRegular() && !passed {
		return nil, notRegular(name, info)
	}
	flags := os.O_RDONLY
	if !passed {
		flags |= syscall.O_NONBLOCK // the file may have become a pipe, which open would wait for
	}
	file, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() && !passed {
		return nil, errors.Join(err, notRegular(name, info))
	}
	return ReadAll(file, name, most)
}

func notRegular(name string, info fs.FileInfo) error {
	if info != nil && info.IsDir() {
		return fmt.Errorf("%s is a folder: %w", name, fs.ErrNotExist)
	}
	return fmt.Errorf("%s: %w: pass a file, or - for the standard input", name, ErrNotRegular)
}

// Folder is a folder that a user names. It is an fs.FS, in which links lead to files of the same folder only.
type Folder struct {
	root *os.Root
	path string
	// mounts are the absolute paths that the folder stands for, such as /etc/nginx. Absolute links below them stay in it.
	mounts []string
	// beside is where other absolute links lead, or nil.
	beside *Folder
}

// Open opens a folder. Absolute links below one of the mounts lead to files of the folder.
func Open(name string, mounts ...string) (*Folder, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root, path: name, mounts: mounts}, nil
}

// Beside returns the folder with another one to which its absolute links lead, such as a copy of a whole file system.
func (f *Folder) Beside(other *Folder) *Folder {
	return &Folder{root: f.root, path: f.path, mounts: f.mounts, beside: other}
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// resolve returns the folder and the name of what a name stands for, without links in it.
func (f *Folder) resolve(op, name string) (*Folder, string, error) {
	refuse := func(err error) (*Folder, string, error) {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	if !fs.ValidPath(name) {
		return refuse(fs.ErrInvalid)
	}
	done, rest, links := ".", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		next := path.Join(done, rest[0])
		rest = rest[1:]
		info, err := f.root.Lstat(filepath.FromSlash(next))
		if err != nil {
			return refuse(err)
		}
		if info.Mode().Type() != fs.ModeSymlink {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return refuse(errors.New("its links lead to each other"))
		}
		target, err := f.root.Readlink(filepath.FromSlash(next))
		if err != nil {
			return refuse(err)
		}
		into, inside, ok := f.target(next, filepath.ToSlash(target))
		if !ok {
			return refuse(fmt.Errorf("%w: %s leads to %s: copy the file into the folder", ErrOutside, path.Join(f.path, next), target))
		}
		if into != f {
			other, found, err := into.resolve(op, path.Join(append([]string{inside}, rest...)...))
			if err != nil {
				return refuse(err)
			}
			return other, found, nil
		}
		done, rest = ".", append(strings.Split(inside, "/"), rest...)
	}
	return f, done, nil
}

// target returns where a link leads.
func (f *Folder) target(link, target string) (*Folder, string, bool) {
	if !path.IsAbs(target) {
		inside := path.Join(path.Dir(link), target)
		return f, inside, fs.ValidPath(inside)
	}
	target = path.Clean(target)
	for _, mount := range f.mounts {
		if inside, ok := strings.CutPrefix(target+"/", strings.TrimSuffix(mount, "/")+"/"); ok {
			return f, path.Clean(strings.TrimSuffix(inside, "/")), true
		}
	}
	if f.beside != nil {
		return f.beside.target(link, target)
	}
	return nil, "", false
}

// Open implements fs.FS. It opens regular files and folders only.
func (f *Folder) Open(name string) (fs.File, error) {
	in, found, err := f.resolve("open", name)
	if err != nil {
		return nil, err
	}
	info, err := in.root.Lstat(filepath.FromSlash(found))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	file, err := in.root.OpenFile(filepath.FromSlash(found), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}, err, file.Close())
	}
	return file, nil
}

// Stat implements fs.StatFS.
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	in, found, err := f.resolve("stat", name)
	if err != nil {
		return nil, err
	}
	return in.root.Lstat(filepath.FromSlash(found))
}

// ReadDir implements fs.ReadDirFS.
func (f *Folder) ReadDir(name string) ([]fs.DirEntry, error) {
	dir, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	list, ok := dir.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	entries, err := list.ReadDir(maxEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("%s has more than %d files", path.Join(f.path, name), maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Walk visits the files in a folder and the folders in it, like fs.WalkDir, and refuses too many or too deep ones. It skips
// folders whose name begins with a dot, and follows no link to a folder.
func Walk(folder fs.FS, visit func(name string, entry fs.DirEntry) error) error {
	entries := 0
	return fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		entries++
		switch {
		case err != nil:
			return err
		case entries > maxEntries:
			return fmt.Errorf("the folder has more than %d files: pass a smaller one", maxEntries)
		case strings.Count(name, "/") > maxDepth:
			return fmt.Errorf("%s is more than %d folders deep", name, maxDepth)
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		}
		return visit(name, entry)
	})
}

// ReadIn reads a file of a folder, of at most a number of bytes.
func ReadIn(folder fs.FS, name string, most int64) ([]byte, error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(name, info)
	}
	return ReadAll(file, name, most)
}
