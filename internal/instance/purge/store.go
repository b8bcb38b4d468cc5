// Package purge keeps what was purged from the cache of a pod, in a form that nginx looks up with each request.
//
// nginx has no command to purge. But the key of an object can contain a variable, and nginx evaluates $realpath_root, the
// target of a symbolic link, with each request. So every object has generations in its key, and a purge gives it another
// one. A request that was under way to the origin meanwhile stores what it gets with the generations of before, which no
// request looks up any more.
//
//	generation               → g/NUMBER.TIME   the generation of everything
//	tree/HOST/FOLDER/.below  → g/NUMBER   the generation of what is below a path
//	tree/HOST/PATH?QUERY/.object → g/NUMBER   the generation of one object
//
// What cannot be found by its key, because it has a tag, or is to become stale, is looked for in the files of all stored
// objects. What is under way to the origin then is not stored: nginx compares another link before and after.
//
//	epoch                    → e/TIME
//
// Two more links say how far the pod is with its purges: see position.go.
package purge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
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
	linkEpoch  = "epoch"
	linkBelow  = ".below"
	linkObject = ".object"
	tree       = "tree"
)

// The names of what nginx does not look up: the folders of the generations and of the epochs, the file with the number of
// the last purge, and what is about to replace something.
const (
	generations = "g"
	epochs      = "e"
	fileNumber  = "number"
	unfinished  = ".unfinished"
)

// maxLinks bounds the links in the tree. Beyond it, the whole cache gets another generation, and the tree is empty again.
const maxLinks = 10000

// Store is the folder in which a pod keeps what was purged. It is safe for concurrent use.
type Store struct {
	root    *os.Root
	objects Objects

	// number can be read while purges are carried out, which a slow disk may hold up.
	number atomic.Int64

	mu    sync.Mutex
	links int
	// unused is how many generations there are at most to which no link leads.
	unused int
}

// errDamaged means that links are missing or lead nowhere, so that nginx would find what was purged.
var errDamaged = errors.New("the folder with what was purged is damaged")

// Open opens the folder of a cache's purges, and creates it if it is missing.
func Open(dir string, objects Objects) (*Store, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{root: root, objects: objects}
	number, links, err := s.readNumber()
	if err != nil {
		return nil, err
	}
	s.number.Store(number)
	if err := s.count(); err != nil {
		return nil, err
	}
	if s.links < links {
		return nil, fmt.Errorf("%w: of %d links, there are %d", errDamaged, links, s.links)
	}
	if err := s.complete(); err != nil {
		return nil, err
	}
	return s, s.countUnused()
}

// complete makes the links that are missing. On a volume that has them, it writes nothing: the volume may be full.
func (s *Store) complete() error {
	if _, err := s.root.Stat(linkAll); errors.Is(err, fs.ErrNotExist) {
		if _, err := s.link(nil, linkAll, newGeneration(s.Number())); err != nil {
			return err
		}
	}
	if err := s.openPositions(); err != nil {
		return err
	}
	if _, err := s.root.Stat(linkEpoch); errors.Is(err, fs.ErrNotExist) {
		return s.beginEpoch()
	}
	return nil
}

// newGeneration returns a generation of everything that there has never been: objects of an earlier one may be left.
func newGeneration(number int64) string { return fmt.Sprintf("%d.%d", number, time.Now().UnixNano()) }

// Number returns the number of the last purge that was carried out.
func (s *Store) Number() int64 { return s.number.Load() }

// Apply carries out the purges that have not been carried out yet. When it returns nil, no request that comes from now on
// is answered with what they purge, also after the node has lost its power.
func (s *Store) Apply(ctx context.Context, p instanceapi.Purges) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := p.Last()
	if last <= s.Number() {
		return nil
	}
	if err := s.begin(last); err != nil {
		return err
	}
	if s.unused > maxLinks {
		if err := s.removeUnused(); err != nil {
			return err
		}
	}
	if s.Number() < p.Since {
		// What was purged meanwhile is not known any more.
		if err := s.renew(p.Since); err != nil {
			return err
		}
	}
	news := p.List
	for len(news) > 0 && news[0].Number <= s.Number() {
		news = news[1:]
	}
	if err := s.search(ctx, news, last); err != nil {
		return err
	}
	for i := range news {
		if err := s.apply(&news[i]); err != nil {
			return fmt.Errorf("purge %d: %w", news[i].Number, err)
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
	return s.save(s.Number())
}

// search carries out what has to be found in the files of stored objects.
func (s *Store) search(ctx context.Context, news []instanceapi.Purge, last int64) error {
	search := newSearch(news)
	if search == nil {
		return nil
	}
	if err := s.beginEpoch(); err != nil {
		return err
	}
	began := time.Now()
	found, err := s.objects.apply(ctx, search)
	switch {
	case err == nil:
		slog.Info("searched the stored objects", "found", found, "took", time.Since(began).Round(time.Millisecond).String())
		return nil
	case ctx.Err() != nil, errors.Is(err, errWorkers):
		return err
	}
	slog.Warn("the whole cache is purged, because its objects cannot be searched", "error", err)
	return s.renew(last)
}

func (s *Store) apply(p *instanceapi.Purge) error {
	if p.Scans() {
		return nil
	}
	if p.All || s.links+len(p.Targets) > maxLinks {
		return s.renew(p.Number)
	}
	for _, t := range p.Targets {
		folder, name := place(t)
		if name == linkAll {
			return s.renew(p.Number)
		}
		isNew, err := s.link(folder, name, strconv.FormatInt(p.Number, 10))
		if err != nil {
			return err
		}
		if isNew {
			s.links++
		} else {
			s.unused++
		}
	}
	return nil
}

// renew gives everything another generation, and removes all others.
func (s *Store) renew(number int64) error {
	generation := newGeneration(number)
	if _, err := s.link(nil, linkAll, generation); err != nil {
		return err
	}
	s.links, s.unused = 0, 0
	if err := s.root.RemoveAll(tree); err != nil {
		return err
	}
	// No link leads to the other generations any more.
	return s.eachIn(generations, func(name string) error {
		if name == generation {
			return nil
		}
		return s.root.Remove(path.Join(generations, name))
	})
}

// link makes a link in a folder of the tree, or at the top if the folder is nil, lead to a generation. It reports whether
// there was no such link.
func (s *Store) link(folder []string, name, generation string) (isNew bool, err error) {
	generation = path.Join(generations, generation)
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
	return errors.Is(missing, fs.ErrNotExist), s.replaceLink(link, up+generation)
}

// replaceLink makes a link, or replaces it so that it is never missing.
func (s *Store) replaceLink(link, target string) error {
	temporary := path.Join(path.Dir(link), unfinished)
	if err := s.root.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.root.Symlink(target, temporary); err != nil {
		return err
	}
	return s.root.Rename(temporary, link)
}

// beginEpoch makes the link of the epoch lead to where it has never led to.
func (s *Store) beginEpoch() error {
	if err := s.root.MkdirAll(epochs, 0o755); err != nil {
		return err
	}
	// nginx may be about to follow the link of now.
	now, err := s.root.Readlink(linkEpoch)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.eachIn(epochs, func(name string) error {
		if path.Base(now) == name {
			return nil
		}
		return s.root.Remove(path.Join(epochs, name))
	}); err != nil {
		return err
	}
	epoch := path.Join(epochs, strconv.FormatInt(time.Now().UnixNano(), 10))
	if err := s.root.Mkdir(epoch, 0o755); err != nil {
		return err
	}
	return s.replaceLink(linkEpoch, epoch)
}

// save stores the number of the last purge, and that of the links, once everything before is on the disk.
func (s *Store) save(number int64) error {
	if err := s.sync(); err != nil {
		return err
	}
	temporary := fileNumber + unfinished
	if err := s.root.WriteFile(temporary, fmt.Appendf(nil, "%d %d", number, s.links), 0o644); err != nil {
		return err
	}
	if err := s.root.Rename(temporary, fileNumber); err != nil {
		return err
	}
	s.number.Store(number)
	if err := s.finish(number); err != nil {
		return err
	}
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

// readNumber returns the number of the last purge, and how many links there were then at least.
func (s *Store) readNumber() (number int64, links int, err error) {
	text, err := s.root.ReadFile(fileNumber)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	fields := append(strings.Fields(string(text)), "0")
	number, err = strconv.ParseInt(fields[0], 10, 64)
	if err == nil {
		// Earlier, there was no number of links.
		links, err = strconv.Atoi(fields[1])
	}
	if err != nil {
		// Nothing is known, so the next purges drop everything.
		return 0, 0, nil //nolint:nilerr // see above
	}
	return number, links, nil
}

// count counts the links in the tree.
func (s *Store) count() error {
	s.links = 0
	err := s.countIn(s.root, tree, maxFolders)
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged) {
		return nil
	}
	return err
}

// countIn counts the links in a folder of another one, and in those below it, of which there may be a number of levels. It opens
// each folder from the one above: a path from the top would open all of them each time.
func (s *Store) countIn(above *os.Root, folder string, levels int) error {
	if levels < 0 {
		return fmt.Errorf("%w: %s is in more than %d folders", errDamaged, folder, maxFolders)
	}
	root, err := above.OpenRoot(path.Base(folder))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // It was only read.
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case entry.IsDir():
			err = s.countIn(root, name, levels-1)
		case entry.Type() == fs.ModeSymlink:
			s.links++
			if _, missing := s.root.Stat(name); missing != nil {
				err = fmt.Errorf("%w: %w", errDamaged, missing)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
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
