package purge

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
)

// Two links say how far a pod is: begun is set before a purge is carried out, and done afterwards. A shard takes an
// object from another one only if that one has done what itself has begun (package cacheconf), so it never takes what
// was purged. They do not lead to generations, which are removed when everything is purged.
//
//	begun → p/NUMBER
//	done  → p/NUMBER
const (
	linkBegun = "begun"
	linkDone  = "done"
	positions = "p"
)

// openPositions makes the links if they are missing, and repeats what may not have been written before the pod ended.
func (s *Store) openPositions() error {
	target, err := s.root.Readlink(linkBegun)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	begun, err := strconv.ParseInt(path.Base(target), 10, 64)
	if err != nil || begun < s.Number() {
		begun = s.Number()
	}
	if err := s.begin(begun); err != nil {
		return err
	}
	return s.finish(s.Number())
}

// begin says that the purges up to a number are being carried out.
func (s *Store) begin(number int64) error { return s.setPosition(linkBegun, number) }

// finish says that the purges up to a number are carried out, and removes the numbers that no link leads to.
func (s *Store) finish(number int64) error {
	if err := s.setPosition(linkDone, number); err != nil {
		return err
	}
	begun, err := s.root.Readlink(linkBegun)
	if err != nil {
		return err
	}
	return s.eachIn(positions, func(name string) error {
		if name == strconv.FormatInt(number, 10) || name == path.Base(begun) {
			return nil
		}
		return s.root.Remove(path.Join(positions, name))
	})
}

func (s *Store) setPosition(name string, number int64) error {
	target := path.Join(positions, strconv.FormatInt(number, 10))
	if now, err := s.root.Readlink(name); err == nil && now == target {
		if _, err := s.root.Stat(target); err == nil {
			return nil
		}
	}
	if err := s.root.MkdirAll(target, 0o755); err != nil {
		return err
	}
	return s.replaceLink(name, target)
}
