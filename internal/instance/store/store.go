// Package store keeps configurations on the scratch space: the users' files of the
// last revisions, and the assembled folders, one of which nginx uses through a
// symbolic link.
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
	"example.com/nginx-operator/internal/nginxconf"
)

// kept is how many revisions' files are kept beside those in use.
const kept = 3

// Store is a folder.
type Store struct {
	dir string
	// image has the files that images bring along for configurations to include.
	image string
	// recent revisions, the latest first.
	recent []string
}

// Open prepares the folder. What an earlier process left there is removed: nginx is not
// running yet.
func Open(dir, image string) (*Store, error) {
	s := &Store{dir: dir, image: image}
	for _, sub := range []string{s.users(), s.revisions()} {
		if err := os.RemoveAll(sub); err != nil {
			return nil, fmt.Errorf("prepare the scratch space: %w", err)
		}
		if err := os.MkdirAll(sub, 0o750); err != nil {
			return nil, fmt.Errorf("prepare the scratch space: %w", err)
		}
	}
	return s, nil
}

func (s *Store) users() string     { return filepath.Join(s.dir, "users") }
func (s *Store) revisions() string { return filepath.Join(s.dir, "revisions") }

// Current is the path under which nginx finds its configuration.
func (s *Store) Current() string { return filepath.Join(s.dir, "current") }

// legal keeps a revision, which comes from an annotation, from being a path.
var legal = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// Keep saves the user's files of a revision.
func (s *Store) Keep(revision string, files map[string]string) error {
	if !legal.MatchString(revision) {
		return fmt.Errorf("%q is not a revision", revision)
	}
	s.recent = slices.DeleteFunc(s.recent, func(r string) bool { return r == revision })
	s.recent = slices.Insert(s.recent, 0, revision)
	return writeFolder(filepath.Join(s.users(), revision), files)
}

// Has tells whether the files of a revision are kept.
func (s *Store) Has(revision string) bool { return slices.Contains(s.recent, revision) }

// Find returns the files of a revision that is kept.
func (s *Store) Find(revision string) (map[string]string, error) {
	if !s.Has(revision) {
		return nil, fmt.Errorf("revision %q is not kept", revision)
	}
	files, err := volumes.Read(filepath.Join(s.users(), revision))
	if err == nil && nginxconf.Revision(files) != revision {
		err = errors.New("its files have changed")
	}
	if err != nil {
		return nil, fmt.Errorf("read revision %s: %w", revision, err)
	}
	return files, nil
}

// Forget removes the files of the oldest revisions, except for those in use.
func (s *Store) Forget(inUse ...string) {
	var rest []string
	for i, revision := range s.recent {
		if i < kept || slices.Contains(inUse, revision) {
			rest = append(rest, revision)
			continue
		}
		// What stays is removed by the next Open.
		_ = os.RemoveAll(filepath.Join(s.users(), revision))
	}
	s.recent = rest
}

// Write writes an assembled configuration to a folder of its own and returns its path.
// Files of the image are linked beside it, so that `include fastcgi_params` finds what
// it finds in the image.
func (s *Store) Write(revision string, generation int64, files map[string]string) (string, error) {
	dir := filepath.Join(s.revisions(), revision+"-"+strconv.FormatInt(generation, 10))
	if err := writeFolder(dir, files); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(s.image)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look at the image's files: %w", err)
	}
	for _, entry := range entries {
		if _, own := files[entry.Name()]; own || entry.Name() == nginxconf.WholeFile {
			continue
		}
		if err := os.Symlink(filepath.Join(s.image, entry.Name()), filepath.Join(dir, entry.Name())); err != nil {
			return "", fmt.Errorf("link the image's files: %w", err)
		}
	}
	return dir, nil
}

// Owns tells whether a path that nginx names is a file of an assembled configuration,
// and no link to somewhere else.
func (s *Store) Owns(path string) bool {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	if dir != s.Current() && filepath.Dir(dir) != s.revisions() {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// Switch makes nginx find the folder from now on, in one step.
func (s *Store) Switch(dir string) error {
	next := s.Current() + ".next"
	_ = os.Remove(next)
	if err := os.Symlink(dir, next); err != nil {
		return fmt.Errorf("switch the configuration: %w", err)
	}
	if err := os.Rename(next, s.Current()); err != nil {
		return fmt.Errorf("switch the configuration: %w", err)
	}
	return nil
}

// Drop removes an assembled folder, unless nginx uses it.
func (s *Store) Drop(dir string) {
	if used, err := os.Readlink(s.Current()); err == nil && used == dir {
		return
	}
	// What stays is removed by the next Open.
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
