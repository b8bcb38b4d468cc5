package archive

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"syscall"
)

// Content writes the tree of a volume that the info names. Volumes must be written in ascending order
// of their indexes. Regular files, directories and links that stay in the volume are kept, with their
// permissions and times. Sockets, devices and fifos, links that leave the volume, unreadable files of
// other users, a lost+found at the top, and the temporary files of an interrupted restore are
// recorded as skipped.
//
// The volume may be in use. A file that grows is cut at the size that it had when it was opened, a
// file that shrinks is an error, and a file that is deleted before it is opened is left out.
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
	return t.writeDirectory(".", info)
}

// tree is the state of a walk through a volume.
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

func (t *tree) writeDirectory(name string, info fs.FileInfo) error {
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
	reason := left(name, info)
	if err := checkPath(t.path(name), t.limits); err != nil && !isLimit(err) {
		return t.skip(t.writable(name), cmp.Or(reason, "name that cannot be restored"))
	}
	if reason != "" {
		return t.skip(name, reason)
	}
	switch info.Mode().Type() {
	case fs.ModeDir:
		return t.writeDirectory(name, info)
	case fs.ModeSymlink:
		return t.link(name, info)
	default:
		return t.regular(name)
	}
}

// writable returns a path in the volume that the manifest can hold, instead of one whose last name it cannot: escaped, and cut
// to what fits, or the folder if nothing does.
func (t *tree) writable(name string) string {
	dir, text := path.Dir(name), url.PathEscape(path.Base(name))
	if most := max(0, min(nameLength, t.limits.PathLength-len(t.path(dir))-len("/"))); len(text) > most {
		text = text[:most]
		if at := strings.LastIndexByte(text, '%'); at > len(text)-len("%5C") && at >= 0 {
			text = text[:at]
		}
	}
	if strings.Trim(text, ".") == "" {
		return dir
	}
	return path.Join(dir, text)
}

// unreadable is the reason for leaving out files and directories of other users. nginx cannot serve
// them either, since the backup runs as its user.
const unreadable = "permission denied"

// left returns the reason for leaving out a file, or "" if it is kept.
func left(name string, info fs.FileInfo) string {
	kind := info.Mode().Type()
	switch {
	case path.Base(name) == tempName && !info.IsDir():
		return "left by an interrupted restore"
	case name == "lost+found" && info.IsDir():
		return "folder of the file system"
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

// regular takes the size from the opened file, since its name may refer to another file by now.
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
