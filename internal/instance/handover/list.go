package handover

import (
	"cmp"
	"context"
	"encoding/hex"
	"io/fs"
	"path/filepath"
	"slices"
)

// maxListed is the number of objects that a list has at most: more than can be handed over in the time of a drain.
const maxListed = 200_000

// listed is an object in a list. Its name is the MD5 sum of its key.
type listed struct {
	name [16]byte
	at   int64
}

// path returns where nginx stores the object: in folders that are named by the last digits of its name.
func (l *listed) path(dir string) string {
	name := hex.EncodeToString(l.name[:])
	last := len(name) - 1
	return filepath.Join(dir, name[last:], name[last-2:last], name)
}

// newestFirst returns the objects of a cache, those first that were stored last: they are fresh for the longest. It returns
// at most maxListed, and whether these are all. What cannot be read, and what nginx still writes, is left out.
func newestFirst(ctx context.Context, dir string) (found []listed, complete bool) {
	complete = true
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			complete = false
			return fs.SkipAll
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // nginx removes files meanwhile
		}
		var l listed
		if len(entry.Name()) != 2*len(l.name) {
			return nil
		}
		if _, err := hex.Decode(l.name[:], []byte(entry.Name())); err != nil {
			return nil //nolint:nilerr // it is not nginx's
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // nginx has removed it
		}
		l.at = info.ModTime().UnixNano()
		if found = append(found, l); len(found) == 2*maxListed {
			found, complete = newest(found), false
		}
		return nil
	})
	return newest(found), complete && len(found) <= maxListed
}

// newest returns the newest of some objects, in order.
func newest(found []listed) []listed {
	slices.SortFunc(found, func(a, b listed) int { return cmp.Compare(b.at, a.at) })
	return found[:min(len(found), maxListed)]
}
