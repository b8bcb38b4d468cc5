package purge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/nginx-operator/internal/instance/cachefile"
)

// Objects are the stored objects of a cache.
type Objects struct {
	// Dir is the folder of proxy_cache_path, with two levels of folders, and Temporary that of what nginx still receives;
	// empty, if that is in Dir as well.
	Dir, Temporary string
	// AwaitWorkers waits until each worker of nginx has handled the events that it had.
	AwaitWorkers func(context.Context) error
}

const (
	// levels is the number of levels of folders in the folder of the objects.
	levels = 2
	// parallel is the number of folders that are read at a time.
	parallel = 8
	// placeholder is what the links lead to that replace files. There is no such file.
	placeholder = "purged"
	// lenName is the length of the name of a stored object, in bytes: that of an MD5 sum. That of a file that nginx still
	// writes is longer.
	lenName = 32
	// clockError is how much older the times of a file system may be than the clock.
	clockError = time.Second
)

// apply does what a search says with all objects. Those that nginx receives meanwhile are not stored, if it has asked for
// them before the epoch has changed and had no answer: see nginx-cache-epoch. It returns how many were found.
func (o *Objects) apply(ctx context.Context, s *search) (int64, error) {
	began := time.Now()
	// Afterwards, there is a file of each object of which nginx had the header before.
	if err := o.awaitWorkers(ctx); err != nil {
		return 0, err
	}
	found, err := o.pass(ctx, s, time.Time{})
	if err != nil {
		return found, err
	}
	// A file that has got its name while its folder was read may have been missed.
	if err := o.awaitWorkers(ctx); err != nil {
		return found, err
	}
	more, err := o.pass(ctx, s, changedSince(began, time.Now(), time.Since(began)))
	return found + more, err
}

// changedSince returns the earliest time that a file can have which was changed after began. If the clock was put back since
// then, less time has passed on it than has elapsed.
func changedSince(began, now time.Time, elapsed time.Duration) time.Time {
	// Without Round, the clock is compared that nobody sets.
	back := elapsed - now.Round(0).Sub(began.Round(0))
	return began.Add(-max(0, back) - clockError)
}

// maxWait is how long the workers of nginx are waited for. The purge fails then, and is tried again.
const maxWait = 10 * time.Second

// errWorkers means that workers of nginx could not be waited for.
var errWorkers = errors.New("what nginx stores at the moment cannot be purged")

func (o *Objects) awaitWorkers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	if err := o.AwaitWorkers(ctx); err != nil {
		return fmt.Errorf("%w: %w", errWorkers, err)
	}
	return nil
}

// removeLinks removes the links that replace files. nginx, which must not run, would neither know nor remove them.
func (o *Objects) removeLinks() error {
	return filepath.WalkDir(o.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink == 0 {
			return missingIsFine(err)
		}
		return os.Remove(path)
	})
}

// pass reads the objects in all folders that have changed since a time.
func (o *Objects) pass(ctx context.Context, s *search, since time.Time) (int64, error) {
	var found atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	if o.Temporary != "" {
		group.Go(func() error {
			r := reader{search: s, temporary: true, now: time.Now(), found: &found}
			return r.readFolder(ctx, o.Temporary, levels)
		})
	}
	folders, err := filepath.Glob(filepath.Join(o.Dir, "?"))
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		group.Go(func() error {
			r := reader{search: s, since: since, now: time.Now(), found: &found}
			return r.readFolder(ctx, folder, levels-1)
		})
	}
	err = group.Wait()
	return found.Load(), err
}

// reader reads the objects of some folders.
type reader struct {
	search *search
	since  time.Time
	// temporary reports whether the folder has files that nginx still writes, and others than those of objects.
	temporary bool
	now       time.Time
	buffer    []byte
	found     *atomic.Int64
}

// readFolder reads the objects in a folder and in those below it. Folders that have not changed are left out at the given
// level below it.
func (r *reader) readFolder(ctx context.Context, folder string, level int) error {
	dir, err := os.Open(folder) //nolint:gosec // the folders below that of the cache
	if err != nil {
		return missingIsFine(err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	info, err := dir.Stat()
	if err != nil || level <= 0 && info.ModTime().Before(r.since) {
		return err
	}
	const atOnce = 1024
	for {
		entries, err := dir.ReadDir(atOnce)
		for _, entry := range entries {
			if err := r.readEntry(ctx, folder, entry, level); err != nil {
				return err
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (r *reader) readEntry(ctx context.Context, folder string, entry fs.DirEntry, level int) error {
	path := filepath.Join(folder, entry.Name())
	switch {
	case entry.IsDir():
		return r.readFolder(ctx, path, level-1)
	case entry.Type().IsRegular():
		return r.readFile(path, r.temporary || len(entry.Name()) != lenName)
	}
	return nil
}

// readFile reads an object and does with it what the search says.
func (r *reader) readFile(path string, isTemporary bool) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // a file of the cache
	if err != nil {
		// nginx may have removed it by now.
		return missingIsFine(err)
	}
	defer func() { _ = file.Close() }() // a failed write has been reported
	if r.buffer == nil {
		r.buffer = make([]byte, cachefile.Head)
	}
	object, buffer, err := cachefile.Read(file, r.buffer)
	r.buffer = buffer
	e := remove
	switch {
	case err == nil:
		e = r.search.of(&object)
	case isTemporary:
		return nil
	case errors.Is(err, cachefile.ErrVersion):
		return fmt.Errorf("%s: %w", path, err)
	case !errors.Is(err, cachefile.ErrDamaged):
		return err
	}
	switch {
	case e == keep:
		return nil
	case e == makeStale && object.Valid.Unix() < r.now.Unix():
		// It is stale already: nginx takes an object as fresh until the second of its end is over.
		return nil
	case e == makeStale:
		err = cachefile.MakeStale(file, r.now)
	case isTemporary:
		err = cachefile.Invalidate(file)
	default:
		err = replace(path)
	}
	r.found.Add(1)
	return err
}

// replace replaces the file of an object by a link that leads nowhere. nginx then finds no object, and can still remove or
// replace the file that it knows of; if it were gone, nginx would report that.
func replace(path string) error {
	temporary := path + unfinished
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(placeholder, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func missingIsFine(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
