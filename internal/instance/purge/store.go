// Package purge keeps what was purged from the cache of a pod, in a form that nginx looks up with each request.
//
// nginx has no command to purge. But the key of an object can contain a variable, and nginx evaluates $realpath_root, the
// target of a symbolic link, with each request. So every object has generations in its key, and a purge gives it another
// one. A request that was under way to the origin meanwhile stores what it gets with the generations of before, which no
// request looks up any more.
//
//	generation               → g/NUMBER   the generation of everything
//	tree/HOST/FOLDER/.below  → g/NUMBER   the generation of what is below a path
//	tree/HOST/PATH?QUERY/.object → g/NUMBER   the generation of one object
package purge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
)

// The names that nginx looks up. Their configuration is in package cacheconf.
const (
	linkAll    = "generation"
	linkBelow  = ".below"
	linkObject = ".object"
	tree       = "tree"
)

// The names of what nginx does not look up: the folder of the generations, the file with the number of the last purge,
// and what is about to replace something.
const (
	generations = "g"
	fileNumber  = "number"
	unfinished  = ".unfinished"
)

// maxLinks bounds the links in the tree. Beyond it, the whole cache gets another generation, and the tree is empty again.
const maxLinks = 10000

// maxName is the longest name of a folder, in bytes, and maxPath the longest path in the tree. nginx finds nothing beyond
// these, so the folder above is purged.
const (
	maxName = 255
	maxPath = 3000
)

// Store is the folder in which a pod keeps what was purged. It is safe for concurrent use.
type Store struct {
	root *os.Root

	// number can be read while purges are carried out, which a slow disk may hold up.
	number atomic.Int64

	mu    sync.Mutex
	links int
}

// Open opens the folder, and creates it if it is missing.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{root: root}
	number, err := s.readNumber()
	if err != nil {
		return nil, err
	}
	s.number.Store(number)
	if err := s.count(); err != nil {
		return nil, err
	}
	if _, err := root.Stat(linkAll); errors.Is(err, fs.ErrNotExist) {
		_, err = s.link(nil, linkAll, s.Number())
		return s, err
	}
	return s, err
}

// Number returns the number of the last purge that was carried out.
func (s *Store) Number() int64 { return s.number.Load() }

// Apply carries out the purges that have not been carried out yet. When it returns nil, no request that comes from now on
// is answered with what they purge, also after the node has lost its power.
func (s *Store) Apply(p instanceapi.Purges) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := p.Last()
	if last <= s.Number() {
		return nil
	}
	if s.Number() < p.Since {
		// What was purged meanwhile is not known any more.
		if err := s.renew(p.Since); err != nil {
			return err
		}
	}
	for _, purge := range p.List {
		if purge.Number <= s.Number() {
			continue
		}
		if err := s.apply(&purge); err != nil {
			return fmt.Errorf("purge %d: %w", purge.Number, err)
		}
	}
	return s.save(last)
}

// Drop gives everything another generation, because what was purged is not known.
func (s *Store) Drop(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.renew(now.UnixMilli()); err != nil {
		return err
	}
	return s.sync()
}

func (s *Store) apply(p *instanceapi.Purge) error {
	if p.All || s.links+len(p.Targets) > maxLinks {
		return s.renew(p.Number)
	}
	for _, t := range p.Targets {
		folder, name := place(t)
		if name == linkAll {
			return s.renew(p.Number)
		}
		isNew, err := s.link(folder, name, p.Number)
		if err != nil {
			return err
		}
		if isNew {
			s.links++
		}
	}
	return nil
}

// renew gives everything another generation, and removes all others.
func (s *Store) renew(number int64) error {
	if _, err := s.link(nil, linkAll, number); err != nil {
		return err
	}
	s.links = 0
	if err := s.root.RemoveAll(tree); err != nil {
		return err
	}
	// No link leads to the other generations any more.
	return s.eachIn(generations, func(name string) error {
		if name == strconv.FormatInt(number, 10) {
			return nil
		}
		return s.root.Remove(path.Join(generations, name))
	})
}

// place returns the folder in the tree, and the name, of the link of a target. Where nginx could not find it, it returns
// that of a folder of the path above, or the link of everything, so that too much is purged rather than too little.
func place(t instanceapi.Target) (folder []string, name string) {
	folders := components(t.Host + t.Path)
	all := components(t.Host + t.Path + t.Query)
	if !t.Below && len(strings.Join(all, "/")) <= maxPath && !slices.ContainsFunc(all, unusable) {
		return all, linkObject
	}
	if !t.Below && !strings.HasSuffix(t.Path, "/") {
		// What is below the folder that the object is in.
		folders = folders[:len(folders)-1]
	}
	if at := slices.IndexFunc(folders, unusable); at >= 0 {
		folders = folders[:at]
	}
	if len(folders) == 0 {
		return nil, linkAll
	}
	return folders[:min(len(folders), 1+instanceapi.MaxPurgedFolders)], linkBelow
}

// components returns the names in a path.
func components(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// unusable reports whether a component of a path cannot be the name of a folder.
func unusable(name string) bool {
	switch name {
	case ".", "..", linkBelow, linkObject, unfinished:
		return true
	}
	return len(name) > maxName
}

// link makes a link in a folder of the tree, or at the top if the folder is nil, lead to a generation. It reports whether
// there was no such link.
func (s *Store) link(folder []string, name string, number int64) (isNew bool, err error) {
	generation := path.Join(generations, strconv.FormatInt(number, 10))
	if err := s.root.MkdirAll(generation, 0o755); err != nil {
		return false, err
	}
	up := ""
	if folder != nil {
		folder = append([]string{tree}, folder...)
		up = strings.Repeat("../", len(folder))
		if err := s.root.MkdirAll(path.Join(folder...), 0o755); err != nil {
			return false, err
		}
	}
	link := path.Join(append(folder, name)...)
	_, missing := s.root.Lstat(link)
	// The link is never missing.
	temporary := path.Join(append(folder, unfinished)...)
	if err := s.root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := s.root.Symlink(up+generation, temporary); err != nil {
		return false, err
	}
	return errors.Is(missing, fs.ErrNotExist), s.root.Rename(temporary, link)
}

// save stores the number of the last purge, once everything before is on the disk.
func (s *Store) save(number int64) error {
	if err := s.sync(); err != nil {
		return err
	}
	temporary := fileNumber + unfinished
	if err := s.root.WriteFile(temporary, []byte(strconv.FormatInt(number, 10)), 0o644); err != nil {
		return err
	}
	if err := s.root.Rename(temporary, fileNumber); err != nil {
		return err
	}
	s.number.Store(number)
	return s.sync()
}

// sync writes the file system to its disk.
func (s *Store) sync() error {
	dir, err := s.root.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	return unix.Syncfs(int(dir.Fd()))
}

func (s *Store) readNumber() (int64, error) {
	text, err := s.root.ReadFile(fileNumber)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, nil //nolint:nilerr // nothing is known, so the next purges drop everything
	}
	return number, nil
}

// count counts the links in the tree.
func (s *Store) count() error {
	s.links = 0
	err := fs.WalkDir(s.root.FS(), tree, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type() == fs.ModeSymlink {
			s.links++
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// eachIn calls do with the name of each entry of a folder.
func (s *Store) eachIn(folder string, do func(name string) error) error {
	dir, err := s.root.Open(filepath.Clean(folder))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := do(name); err != nil {
			return err
		}
	}
	return nil
}
