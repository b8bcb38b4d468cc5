package purge

import (
	"io/fs"
	"path"
)

// countUnused counts the generations to which no link can lead.
func (s *Store) countUnused() error {
	s.unused = -1 - s.links
	return s.eachIn(generations, func(string) error {
		s.unused++
		return nil
	})
}

// removeUnused removes the generations to which no link leads: where the same object is purged again and again, they would fill
// the volume.
func (s *Store) removeUnused() error {
	all, err := s.root.Readlink(linkAll)
	if err != nil {
		return err
	}
	used := map[string]bool{path.Base(all): true}
	err = fs.WalkDir(s.root.FS(), tree, func(link string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() != fs.ModeSymlink {
			return err
		}
		target, err := s.root.Readlink(link)
		used[path.Base(target)] = true
		return err
	})
	if err := missingIsFine(err); err != nil {
		return err
	}
	s.unused = 0
	return s.eachIn(generations, func(name string) error {
		if used[name] {
			return nil
		}
		return s.root.Remove(path.Join(generations, name))
	})
}
