package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Policy decides what happens to files of a volume with other content.
type Policy string

// The policies.
const (
	// Refuse writes nothing at all if there are any such files.
	Refuse Policy = "Refuse"
	// Overwrite replaces such files.
	Overwrite Policy = "Overwrite"
)

// Open opens an archive at its beginning. The reader is closed before Open is called again.
type Open func(context.Context) (io.ReadCloser, error)

// ExtractContent restores the trees of an archive into volumes. It reads the archive twice: first to
// verify all of it and to compare it with the volumes, without writing anything, and then to write.
// Nothing is written if the archive is refused, or if the policy forbids it, which is a
// *ConflictError. If the archive is replaced between the two passes, no file is written that differs
// from what was verified.
//
// Trees whose index has no root are left out. A file is written under a temporary name, synced and
// renamed. Files with the same content keep their mode and time. Files that are not in the archive
// and existing directories are not changed.
func ExtractContent(ctx context.Context, open Open, commit Commit, limits Limits, roots map[int]*os.Root, policy Policy) ([]Comparison, error) {
	if policy != Refuse && policy != Overwrite {
		return nil, fmt.Errorf("unknown policy %s", clip(string(policy)))
	}
	var c *comparer
	var seen []fingerprint
	err := opened(ctx, open, func(r io.Reader) (err error) {
		c, seen, err = compareContent(ctx, r, commit, limits, roots)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, found := range c.found {
		if found.Blocked > 0 || found.Differs > 0 && policy == Refuse {
			return c.found, &ConflictError{Policy: policy, Found: c.found}
		}
	}
	e := &extractor{roots: roots, same: c.same, buffer: c.buffer, replace: policy == Overwrite}
	err = opened(ctx, open, func(r io.Reader) error {
		_, _, err := scan(ctx, r, commit, limits, seen, e.visit)
		return err
	})
	return c.found, errors.Join(err, e.leave(""))
}

func opened(ctx context.Context, open Open, do func(io.Reader) error) error {
	r, err := open(ctx)
	if err != nil {
		return fmt.Errorf("open the archive: %w", err)
	}
	defer r.Close() //nolint:errcheck // it was only read
	return do(r)
}

// extractor is the visitor that writes.
type extractor struct {
	roots   map[int]*os.Root
	same    bitmap
	replace bool
	buffer  []byte
	// within holds the directories that the current entry is in, outermost first.
	within []directory
}

// directory is a directory of the volume whose entries are being written.
type directory struct {
	item
	root *os.Root
	// made reports whether the directory was created. If so, it gets its mode and time at the end.
	made bool
	// changed reports whether a file was renamed into the directory, which then has to be synced.
	changed bool
}

func (e *extractor) visit(i item) error {
	root := e.roots[i.index]
	if i.section != contentSection || root == nil {
		return nil
	}
	err := e.leave(i.Path)
	switch {
	case err != nil || e.same.has(i.number):
	case i.Type == Directory:
		err = e.enter(root, i)
	default:
		err = e.place(root, i)
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", clip(i.Path), err)
	}
	return nil
}

// enter makes sure that a directory exists and is not a link to one.
func (e *extractor) enter(root *os.Root, i item) error {
	d := directory{item: i, root: root}
	if i.rest == "" {
		e.within = append(e.within, d)
		return nil
	}
	there, err := root.Lstat(i.rest)
	if err == nil && !there.IsDir() {
		if !e.replace {
			return errors.New("it was created while the backup was restored: restore again")
		}
		if err := root.Remove(i.rest); err != nil {
			return err
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = makeDirectory(root, i)
		d.made = true
		e.within[len(e.within)-1].changed = true
	}
	e.within = append(e.within, d)
	return err
}

// makeDirectory creates a directory that its owner can write to, whatever its final mode, since its
// entries are written first. The permissions of others are final from the start: if the restore is
// killed now, nothing sets them later.
func makeDirectory(root *os.Root, i item) error {
	mode := fs.FileMode(i.Mode) | 0o700
	if err := root.Mkdir(i.rest, mode); err != nil {
		return err
	}
	there, err := root.Lstat(i.rest)
	if err != nil {
		return err
	}
	return root.Chmod(i.rest, mode|there.Mode()&fs.ModeSetgid)
}

// leave finishes the directories that an entry is not in. An empty path finishes all of them.
func (e *extractor) leave(name string) error {
	for len(e.within) > 0 {
		last := e.within[len(e.within)-1]
		if strings.HasPrefix(name, last.Path+"/") {
			return nil
		}
		e.within = e.within[:len(e.within)-1]
		if err := last.finish(); err != nil {
			return fmt.Errorf("restore %s: %w", clip(last.Path), err)
		}
	}
	return nil
}

func (d *directory) finish() error {
	if !d.made && !d.changed {
		return nil
	}
	name := path.Join(".", d.rest)
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was synchronised
	if !d.made {
		return f.Sync()
	}
	there, err := f.Stat()
	if err != nil {
		return err
	}
	// In a volume with an fsGroup, this bit passes the group on to new files.
	keep := there.Mode() & fs.ModeSetgid
	return errors.Join(f.Chmod(fs.FileMode(d.Mode)|keep), d.root.Chtimes(name, d.modified, d.modified), f.Sync())
}

// place writes a file or a link under a temporary name and renames it.
func (e *extractor) place(root *os.Root, i item) error {
	if _, err := root.Lstat(i.rest); err == nil && !e.replace {
		return errors.New("it was created while the backup was restored: restore again")
	}
	temp := path.Join(path.Dir(i.rest), tempName)
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := e.write(root, temp, i)
	if err == nil {
		err = root.Rename(temp, i.rest)
	}
	if err != nil {
		return errors.Join(err, ignore(root.Remove(temp), fs.ErrNotExist))
	}
	e.within[len(e.within)-1].changed = true
	return nil
}

func ignore(err, what error) error {
	if errors.Is(err, what) {
		return nil
	}
	return err
}

func (e *extractor) write(root *os.Root, temp string, i item) error {
	if i.Type == Link {
		return root.Symlink(i.Target, temp)
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// The wrapper hides the file's ReadFrom, with which CopyBuffer would not use the buffer.
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, i.content, e.buffer)
	if err == nil {
		err = errors.Join(f.Chmod(fs.FileMode(i.Mode)), root.Chtimes(temp, i.modified, i.modified), f.Sync())
	}
	return errors.Join(err, f.Close())
}
