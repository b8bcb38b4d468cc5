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

// Policy is what happens to files that a volume has with other content.
type Policy string

// The policies.
const (
	// Refuse writes nothing at all if there are any.
	Refuse Policy = "Refuse"
	// Overwrite replaces them.
	Overwrite Policy = "Overwrite"
)

// Open begins to read an archive from its start. The reader is closed before the next one is
// asked for.
type Open func(context.Context) (io.ReadCloser, error)

// ExtractContent restores the trees of an archive into volumes. It reads the archive twice:
// once to verify all of it and to compare it with the volumes, without writing anything, and
// once to write. Nothing is written of an archive that is refused, or where the policy is
// against it, which is a *ConflictError; and no file that is not byte for byte what was
// verified, if the archive is replaced in between.
//
// Trees whose index has no root are left out. A file is written beside its place and renamed
// when it is on disk. Files with the same bytes are left alone with their mode and time, and
// so are files that the archive does not have, and directories that are there.
func ExtractContent(ctx context.Context, open Open, commit Commit, limits Limits, roots map[int]*os.Root, policy Policy) ([]Comparison, error) {
	if policy != Refuse && policy != Overwrite {
		return nil, fmt.Errorf("the policy %s is not known", clip(string(policy)))
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
	// within are the directories that the entry is in, outermost first.
	within []directory
}

// directory is one of the volume, while its entries are being written.
type directory struct {
	item
	root *os.Root
	// made tells that it was not there, and gets its mode and time in the end.
	made bool
	// changed tells that something was renamed into it, which has to reach the disk.
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

// enter makes sure that a directory is there as one, no link to one.
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

// makeDirectory makes one that its owner can write to, whatever its mode is to be: its entries have
// to be written first. Who else may read it does so from the start, since nobody would give it that
// mode any more if the restore was killed now.
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

// leave finishes the directories that an entry is not in; with an empty path: all.
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
	// A volume with an fsGroup hands its group down by this bit.
	keep := there.Mode() & fs.ModeSetgid
	return errors.Join(f.Chmod(fs.FileMode(d.Mode)|keep), d.root.Chtimes(name, d.modified, d.modified), f.Sync())
}

// place writes a file or a link beside its place, and puts it there.
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
	// The file is hidden from CopyBuffer, which would let it choose a buffer of its own.
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, i.content, e.buffer)
	if err == nil {
		err = errors.Join(f.Chmod(fs.FileMode(i.Mode)), root.Chtimes(temp, i.modified, i.modified), f.Sync())
	}
	return errors.Join(err, f.Close())
}
