package archive

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"syscall"
)

// Content writes the tree of a volume that the info names, in ascending order of the
// indexes. Regular files, directories and links that stay in the volume are kept, with their
// permissions and times. Sockets, devices and fifos, links that leave the volume, files of
// others that must not be read, a lost+found at the top, and what an interrupted restore has left
// are recorded as skipped.
//
// The volume can be in use. A file that grows is cut where it ended when it was opened, one
// that shrinks is an error, and one that vanishes before it is opened is not in the backup.
func (a *Writer) Content(index int, root *os.Root) error {
	if a.volumes == len(a.info.Content) || a.info.Content[a.volumes].Index != index {
		return a.fail(fmt.Errorf("archive: %s does not name content %d as the next volume", infoName, index))
	}
	a.volumes++
	t := tree{Writer: a, root: root, prefix: fmt.Sprintf("content/%d", index)}
	info, err := root.Lstat(".")
	if err != nil {
		return a.fail(fmt.Errorf("archive %s: %w", t.prefix, err))
	}
	return t.directory(".", info)
}

// tree is the walk through a volume.
type tree struct {
	*Writer
	root   *os.Root
	prefix string
}

func (t *tree) path(name string) string { return path.Join(t.prefix, name) }

func (t *tree) broken(name string, err error) error {
	return t.fail(fmt.Errorf("archive %s: %w", clip(t.path(name)), err))
}

func (t *tree) entry(name string, info fs.FileInfo) Entry {
	e := Entry{Path: t.path(name), Type: Regular, Mode: Mode(info.Mode().Perm())}
	switch {
	case info.IsDir():
		e.Type = Directory
	case info.Mode().Type() == fs.ModeSymlink:
		e.Type = Link
	default:
		e.Size = info.Size()
	}
	return e
}

func (t *tree) directory(name string, info fs.FileInfo) error {
	e := t.entry(name, info)
	if err := t.begin(e, info.ModTime()); err != nil {
		return err
	}
	if err := t.line(e); err != nil {
		return err
	}
	children, err := readNames(t.root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && name != ".":
		return nil
	case errors.Is(err, fs.ErrPermission) && name != ".":
		return t.skip(name, unreadable)
	case err != nil:
		return t.broken(name, err)
	}
	for child := range children.all() {
		if err := t.any(path.Join(name, child)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) any(name string) error {
	info, err := t.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return t.broken(name, err)
	}
	if reason := left(name, info); reason != "" {
		return t.skip(name, reason)
	}
	if err := checkPath(t.path(name), t.limits); err != nil && !isLimit(err) {
		// The name cannot be told either, as it is.
		return t.skip(path.Join(path.Dir(name), url.PathEscape(path.Base(name))), "name that cannot be restored")
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return t.directory(name, info)
	case fs.ModeSymlink:
		return t.link(name, info)
	default:
		return t.regular(name)
	}
}

// unreadable is why something is left out that belongs to another user. nginx, whose user the
// backup's is, cannot serve it either.
const unreadable = "permission denied"

// left is why something is left out, empty if it is not.
func left(name string, info fs.FileInfo) string {
	kind := info.Mode().Type()
	switch {
	case path.Base(name) == tempName && !info.IsDir():
		return "left by an interrupted restore"
	case name == "lost+found" && info.IsDir():
		return "of the file system"
	case kind&fs.ModeSocket != 0:
		return "socket"
	case kind&fs.ModeNamedPipe != 0:
		return "fifo"
	case kind&fs.ModeDevice != 0:
		return "device"
	case kind&fs.ModeIrregular != 0:
		return "not a file"
	}
	return ""
}

func (t *tree) skip(name, reason string) error {
	if t.err != nil {
		return t.err
	}
	if err := t.sequence.skip(t.path(name)); err != nil {
		return t.broken(name, err)
	}
	return t.line(Skipped{Path: t.path(name), Reason: reason})
}

func (t *tree) link(name string, info fs.FileInfo) error {
	e := t.entry(name, info)
	var err error
	if e.Target, err = t.root.Readlink(name); err != nil {
		return t.broken(name, err)
	}
	at, err := locate(e.Path)
	if err != nil {
		return t.broken(name, err)
	}
	if checkTarget(at, e.Target, t.limits) != nil {
		return t.skip(name, "link that leaves the volume")
	}
	if err := t.begin(e, info.ModTime()); err != nil {
		return err
	}
	return t.line(e)
}

// regular asks the opened file how large it is: by its name there can be another one by now.
func (t *tree) regular(name string) error {
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return t.skip(name, unreadable)
	case err != nil:
		return t.broken(name, err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return t.broken(name, err)
	}
	if !info.Mode().IsRegular() {
		return t.broken(name, errors.New("it was replaced while it was read: back up again"))
	}
	return t.file(t.entry(name, info), info.ModTime(), f)
}
