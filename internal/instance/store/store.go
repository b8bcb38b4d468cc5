// Package store keeps configurations in the scratch space: the users' files of the last revisions,
// and the assembled folders, one of which nginx uses through a symbolic link.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// kept is the number of the latest revisions whose files are kept, in addition to those in use.
const kept = 3

// Store is a folder with configurations.
type Store struct {
	dir string
	// image are the folders of the image's files that configurations can include, the first one first.
	image []string
	// recent are the kept revisions, the latest first.
	recent []string
}

// Open prepares the folder and removes what an earlier process left there. nginx must not run yet.
func Open(dir string, image ...string) (*Store, error) {
	s := &Store{dir: dir, image: image}
	for _, sub := range []string{s.userFilesDir(), s.revisions(), s.links()} {
		if err := os.RemoveAll(sub); err != nil {
			return nil, fmt.Errorf("prepare the scratch space: %w", err)
		}
		if err := os.MkdirAll(sub, 0o750); err != nil {
			return nil, fmt.Errorf("prepare the scratch space: %w", err)
		}
	}
	return s, nil
}

func (s *Store) userFilesDir() string { return filepath.Join(s.dir, "users") }
func (s *Store) revisions() string    { return filepath.Join(s.dir, "revisions") }
func (s *Store) links() string        { return filepath.Join(s.dir, "links") }

// CurrentPath returns the path at which nginx finds its configuration.
func (s *Store) CurrentPath() string { return filepath.Join(s.dir, "current") }

// revisionPattern matches revisions. It prevents a revision, which comes from an order, from being a
// path.
var revisionPattern = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// SaveRevision saves the user's files of a revision.
func (s *Store) SaveRevision(revision string, files map[string]string) error {
	if !revisionPattern.MatchString(revision) {
		return fmt.Errorf("%q is not a revision", revision)
	}
	s.recent = slices.DeleteFunc(s.recent, func(r string) bool { return r == revision })
	// A revision whose files could not be written is not kept, so that they are sent again.
	if err := writeFolder(filepath.Join(s.userFilesDir(), revision), files); err != nil {
		return err
	}
	s.recent = slices.Insert(s.recent, 0, revision)
	return nil
}

// Revisions returns the revisions whose files are kept.
func (s *Store) Revisions() []string { return slices.Clone(s.recent) }

// Has reports whether the files of a revision are kept.
func (s *Store) Has(revision string) bool { return slices.Contains(s.recent, revision) }

// Find returns the files of a kept revision.
func (s *Store) Find(revision string) (map[string]string, error) {
	if !s.Has(revision) {
		return nil, fmt.Errorf("revision %q is not kept", revision)
	}
	files, err := volumes.Read(filepath.Join(s.userFilesDir(), revision))
	if err == nil && nginxconf.Revision(files) != revision {
		err = errors.New("its files have changed")
	}
	if err != nil {
		return nil, fmt.Errorf("read revision %s: %w", revision, err)
	}
	return files, nil
}

// PruneRevisions removes the files of the oldest revisions, except for those in use.
func (s *Store) PruneRevisions(inUse ...string) {
	var rest []string
	for i, revision := range s.recent {
		if i < kept || slices.Contains(inUse, revision) {
			rest = append(rest, revision)
			continue
		}
		// The next Open removes what could not be removed.
		_ = os.RemoveAll(filepath.Join(s.userFilesDir(), revision))
	}
	s.recent = rest
}

// Forget removes the files of a revision.
func (s *Store) Forget(revision string) {
	s.recent = slices.DeleteFunc(s.recent, func(r string) bool { return r == revision })
	// The next Open removes what could not be removed.
	_ = os.RemoveAll(filepath.Join(s.userFilesDir(), revision))
}

// Write writes an assembled configuration to a new folder and returns its path. Files of the image
// are linked into it, so that `include fastcgi_params` finds the same file as in the image.
func (s *Store) Write(revision string, generation int64, files map[string]string) (string, error) {
	dir := filepath.Join(s.revisions(), revision+"-"+strconv.FormatInt(generation, 10))
	if err := writeFolder(dir, files); err != nil {
		return "", err
	}
	for _, image := range s.image {
		if err := s.linkAll(image, dir, files); err != nil {
			return "", fmt.Errorf("link the image's files: %w", err)
		}
	}
	return dir, nil
}

// linkAll links the files of a folder of the image, except for those that the configuration has already.
func (s *Store) linkAll(image, dir string, files map[string]string) error {
	entries, err := os.ReadDir(image)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if _, own := files[name]; own || name == nginxconf.WholeFile {
			continue
		}
		if err := s.link(filepath.Join(image, name), dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// link makes a symbolic link to a file of the image in a folder. All folders share one inode for it, if the file system
// has hard links: making a dozen inodes takes longer than all the rest of an assembly.
func (s *Store) link(target, dir string) error {
	name := filepath.Base(target)
	first, link := filepath.Join(s.links(), name), filepath.Join(dir, name)
	if to, err := os.Readlink(first); err == nil && to == target && os.Link(first, link) == nil {
		return nil
	}
	if err := os.Symlink(target, link); err != nil {
		return err
	}
	// Without the first one, the next folder has its own again.
	_ = os.Link(link, first)
	return nil
}

// Owns reports whether a path that nginx names is a file of an assembled configuration, and not a
// link to another file.
func (s *Store) Owns(path string) bool {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	if dir != s.CurrentPath() && filepath.Dir(dir) != s.revisions() {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// Switch switches the folder that nginx uses, atomically.
func (s *Store) Switch(dir string) error {
	next := s.CurrentPath() + ".next"
	_ = os.Remove(next)
	if err := os.Symlink(dir, next); err != nil {
		return fmt.Errorf("switch the configuration: %w", err)
	}
	if err := os.Rename(next, s.CurrentPath()); err != nil {
		return fmt.Errorf("switch the configuration: %w", err)
	}
	return nil
}

// Drop removes an assembled folder, unless nginx uses it.
func (s *Store) Drop(dir string) {
	if used, err := os.Readlink(s.CurrentPath()); err == nil && used == dir {
		return
	}
	// The next Open removes what could not be removed.
	_ = os.RemoveAll(dir)
}

func writeFolder(dir string, files map[string]string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o640); err != nil {
			return fmt.Errorf("write a configuration: %w", err)
		}
	}
	return nil
}
