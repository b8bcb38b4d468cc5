package handover

import (
	"cmp"
	"context"
	"io/fs"
	"path/filepath"
	"slices"
)

// newestFirst returns the files of a cache, those first that were stored last: they are fresh for the longest. What cannot
// be read is left out.
func newestFirst(ctx context.Context, dir string) []string {
	type stored struct {
		path string
		at   int64
	}
	var found []stored
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // nginx removes files meanwhile
		}
		if info, err := entry.Info(); err == nil {
			found = append(found, stored{path, info.ModTime().UnixNano()})
		}
		return nil
	})
	slices.SortFunc(found, func(a, b stored) int { return cmp.Compare(b.at, a.at) })
	paths := make([]string, len(found))
	for i, f := range found {
		paths[i] = f.path
	}
	return paths
}
