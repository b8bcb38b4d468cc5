package archive

import (
	"fmt"
	"path"
	"strings"
)

// sequence checks that entries are valid, in the order of the format, and within the limits. The
// Writer and the readers check every entry with one.
type sequence struct {
	limits Limits
	totals Totals
	// documents is the memory that documents and secrets have taken so far, in bytes.
	documents int64
	// last is the place of the previous entry, and lastPath its path. lastPath is empty before the
	// first entry.
	last     place
	lastPath string
	// directories holds the directories of a volume that the current entry is in, outermost first.
	directories []string
}

// next checks an entry and returns its place. The entry need not have its hash yet.
func (s *sequence) next(e Entry) (place, error) {
	if err := checkPath(e.Path, s.limits); err != nil {
		return place{}, err
	}
	at, err := locate(e.Path)
	if err != nil {
		return place{}, err
	}
	if err := s.order(e.Path, at); err != nil {
		return place{}, err
	}
	if err := s.kind(e, at); err != nil {
		return place{}, err
	}
	if err := s.size(e, at); err != nil {
		return place{}, err
	}
	s.last, s.lastPath = at, e.Path
	if at.section != manifestSection {
		s.totals = s.totals.with(e)
	}
	return at, s.checkTotals()
}

func (s *sequence) checkTotals() error {
	if s.totals.Entries > s.limits.Entries || s.totals.Skipped > s.limits.Entries {
		return beyond("there are more than %d entries", s.limits.Entries)
	}
	if s.totals.Bytes > s.limits.Bytes {
		return beyond("the files have more than %d bytes in total", s.limits.Bytes)
	}
	return nil
}

// order makes sure that an entry comes after the previous one, and after the directory that it is
// in.
func (s *sequence) order(name string, at place) error {
	switch {
	case s.lastPath == "" && at.section != infoSection:
		return fmt.Errorf("%s must be the first file", infoName)
	case s.lastPath == "":
		return nil
	case s.lastPath == name:
		return fmt.Errorf("it occurs twice")
	case !at.after(s.last):
		return fmt.Errorf("it is a duplicate or out of order: it comes after %s", clip(s.lastPath))
	case at.section != contentSection && strings.HasPrefix(name, s.lastPath+"/"):
		return fmt.Errorf("%s is a file, so it cannot contain this entry", clip(s.lastPath))
	}
	if at.section != contentSection || at.rest == "" {
		return nil
	}
	return s.within(name)
}

// within makes sure that an entry of a volume is in a directory that came before it.
func (s *sequence) within(name string) error {
	for len(s.directories) > 0 && !strings.HasPrefix(name, s.directories[len(s.directories)-1]+"/") {
		s.directories = s.directories[:len(s.directories)-1]
	}
	parent := path.Dir(name)
	if len(s.directories) == 0 || s.directories[len(s.directories)-1] != parent {
		return fmt.Errorf("it is in %s, which is not a directory that comes before it", clip(parent))
	}
	return nil
}

// kind makes sure that the type of an entry is allowed at its place.
func (s *sequence) kind(e Entry, at place) error {
	if at.section != contentSection && e.Type != Regular {
		return fmt.Errorf("it is of type %s, but must be a file", clip(string(e.Type)))
	}
	if at.section == contentSection && at.rest == "" && e.Type != Directory {
		return fmt.Errorf("it is of type %s, but must be a directory", clip(string(e.Type)))
	}
	switch e.Type {
	case Regular:
		return nil
	case Directory:
		if at.rest == "" {
			s.directories = s.directories[:0]
		}
		s.directories = append(s.directories, e.Path)
		return nil
	case Link:
		return checkTarget(at, e.Target, s.limits)
	default:
		return fmt.Errorf("it is of the unknown type %s", clip(string(e.Type)))
	}
}

func (s *sequence) size(e Entry, at place) error {
	most := s.limits.Bytes
	switch {
	case e.Size < 0 || e.Type != Regular && e.Size != 0:
		return fmt.Errorf("its size %d is impossible for its type", e.Size)
	case at.section == infoSection:
		most = infoLength
	case at.document():
		most = s.limits.Document
		if s.documents += e.Size + held(e); s.documents > s.limits.Documents {
			return beyond("the documents have more than %d bytes in total", s.limits.Documents)
		}
	case at.section == secretSection:
		most = s.limits.Secret
		if s.documents += held(e); s.documents > s.limits.Documents {
			return beyond("there are too many secrets")
		}
	case at.section == manifestSection:
		most = s.limits.Manifest
	}
	if e.Size > most {
		return beyond("it has %d bytes: at most %d are allowed", e.Size, most)
	}
	return nil
}

// held returns the memory that a document takes in addition to its bytes.
func held(e Entry) int64 { return int64(len(e.Path)) + entryCost }

// skip counts and checks a file of a volume that is left out.
func (s *sequence) skip(name string) error {
	s.totals.Skipped++
	if err := s.checkTotals(); err != nil {
		return err
	}
	return checkSkipped(name, s.limits)
}

func checkSkipped(name string, limits Limits) error {
	if path.Base(name) == tempName {
		name = path.Dir(name)
	}
	if err := checkPath(name, limits); err != nil {
		return err
	}
	if at, err := locate(name); err != nil || at.section != contentSection {
		return fmt.Errorf("it is listed as skipped, but does not belong to a volume")
	}
	return nil
}
