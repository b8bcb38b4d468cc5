package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// Comparison is what restoring a tree would change in a volume. It counts files and links. Files of
// the volume that are not in the archive are kept, and not counted.
type Comparison struct {
	// Index is the index of the content volume.
	Index int
	// Same counts those that exist with the same content or target.
	Same int64
	// Missing counts those that do not exist.
	Missing int64
	// Differs counts those that exist with other content, with another target or with another type,
	// including files and links where the archive has a directory. DifferExamples holds the first
	// ten.
	Differs        int64
	DifferExamples []string
	// Blocked counts those with a directory in their place. Directories are never deleted.
	// BlockedExamples holds the first ten.
	Blocked         int64
	BlockedExamples []string
}

// CompareContent verifies an archive like Verify and compares its trees with volumes. It writes
// nothing. Trees whose index has no root are left out.
func CompareContent(ctx context.Context, r io.Reader, commit Commit, limits Limits, roots map[int]*os.Root) ([]Comparison, error) {
	c, _, err := compareContent(ctx, r, commit, limits, roots)
	if err != nil {
		return nil, err
	}
	return c.found, nil
}

func compareContent(ctx context.Context, r io.Reader, commit Commit, limits Limits, roots map[int]*os.Root) (*comparer, []fingerprint, error) {
	if err := checkRoots(commit, roots); err != nil {
		return nil, nil, err
	}
	c := &comparer{roots: roots, buffer: make([]byte, 64<<10)}
	_, seen, err := scan(ctx, r, commit, limits, nil, c.visit)
	return c, seen, err
}

// checkRoots refuses a volume that is not in the backup: it would not change, yet appear to be
// restored.
func checkRoots(commit Commit, roots map[int]*os.Root) error {
	for index := range roots {
		if !commit.Info.names(index) {
			return fmt.Errorf("the backup has no content %d", index)
		}
	}
	return nil
}

// comparer is the visitor of CompareContent.
type comparer struct {
	roots map[int]*os.Root
	found []Comparison
	// same holds the numbers of entries that need not be written.
	same bitmap
	// absent is the outermost directory that does not exist as a directory in the volume, so that
	// everything in it is missing. It is empty if there is none.
	absent string
	buffer []byte
}

type bitmap []uint64

func (b bitmap) with(n int) bitmap {
	for len(b) <= n/64 {
		b = append(b, 0)
	}
	b[n/64] |= 1 << (n % 64)
	return b
}

func (b bitmap) has(n int) bool { return n/64 < len(b) && b[n/64]&(1<<(n%64)) != 0 }

func (c *comparer) visit(i item) error {
	root := c.roots[i.index]
	if i.section != contentSection || root == nil {
		return nil
	}
	if i.rest == "" {
		c.found = append(c.found, Comparison{Index: i.index})
		c.absent = ""
		return nil
	}
	if err := c.entry(root, i, &c.found[len(c.found)-1]); err != nil {
		return fmt.Errorf("compare with %s: %w", clip(i.Path), err)
	}
	return nil
}

func (c *comparer) entry(root *os.Root, i item, result *Comparison) error {
	if c.absent != "" && strings.HasPrefix(i.Path, c.absent+"/") {
		result.missing(i)
		return nil
	}
	there, err := root.Lstat(i.rest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if i.Type == Directory {
			c.absent = i.Path
		}
		result.missing(i)
		return nil
	case err != nil:
		return err
	case i.Type == Directory && there.IsDir():
		return nil
	case there.IsDir():
		result.Blocked++
		result.BlockedExamples = example(result.BlockedExamples, i.Path)
		return nil
	}
	same, err := c.identical(root, i, there)
	switch {
	case err != nil:
		return err
	case same:
		result.Same++
		c.same = c.same.with(i.number)
		return nil
	}
	if i.Type == Directory {
		c.absent = i.Path
	}
	result.Differs++
	result.DifferExamples = example(result.DifferExamples, i.Path)
	return nil
}

func (c *Comparison) missing(i item) {
	if i.Type != Directory {
		c.Missing++
	}
}

func example(list []string, path string) []string {
	if len(list) < shown {
		list = append(list, path)
	}
	return list
}

func (c *comparer) identical(root *os.Root, i item, there fs.FileInfo) (bool, error) {
	switch {
	case i.Type == Link && there.Mode().Type() == fs.ModeSymlink:
		target, err := root.Readlink(i.rest)
		return target == i.Target, err
	case i.Type == Regular && there.Mode().IsRegular() && there.Size() == i.Size:
		f, err := root.OpenFile(i.rest, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a fifo would block
		if err != nil {
			return false, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		return c.equal(f, i.content)
	}
	return false, nil
}

// equal reports whether two readers have the same content. It reads the second one to its end, so
// that its content is verified.
func (c *comparer) equal(a, b io.Reader) (bool, error) {
	mine, theirs := c.buffer[:len(c.buffer)/2], c.buffer[len(c.buffer)/2:]
	for {
		n, err := io.ReadFull(b, theirs)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		if m, err := io.ReadFull(a, mine[:n]); !short(err) && err != nil {
			return false, err
		} else if m < n || !bytes.Equal(mine[:m], theirs[:n]) {
			return false, nil
		}
		if err != nil {
			return true, nil //nolint:nilerr // it is the end
		}
	}
}

func short(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// ConflictError reports that volumes have other content where the archive has files. Nothing was
// written.
type ConflictError struct {
	Policy Policy
	Found  []Comparison
}

// Error lists examples and says what to do.
func (e *ConflictError) Error() string {
	var differs, blocked int64
	var other, directories []string
	for _, c := range e.Found {
		differs, other = differs+c.Differs, append(other, c.DifferExamples...)
		blocked, directories = blocked+c.Blocked, append(directories, c.BlockedExamples...)
	}
	var problems []string
	if differs > 0 && e.Policy != Overwrite {
		problems = append(problems, fmt.Sprintf("%d files exist with other content, such as %s: remove them, or restore with the policy %s", differs, listed(other), Overwrite))
	}
	if blocked > 0 {
		problems = append(problems, fmt.Sprintf("%d files have a directory in their place, such as %s: move the directories away", blocked, listed(directories)))
	}
	return "nothing was restored: " + strings.Join(problems, "; ")
}

func listed(paths []string) string {
	var quoted []string
	for _, p := range paths[:min(len(paths), shown)] {
		quoted = append(quoted, clip(path.Clean(p)))
	}
	return strings.Join(quoted, ", ")
}
