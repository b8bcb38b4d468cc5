package agent

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/store"
)

// List compares the folder of a namespace with the mounted list of backups that have objects. It
// reads the records of all other backups.
func (a *Agent) List(ctx context.Context) (job.Result, error) {
	l := lister{Agent: a, present: map[string]bool{}}
	err := a.readSnapshotPieces(func(in io.Reader) (err error) {
		l.known, err = listing.UnpackKnown(in)
		return err
	})
	if err != nil {
		return job.Result{}, err
	}
	for f, err := range a.eachBackupFolder(ctx) {
		if err == nil {
			err = l.readFolder(ctx, f)
		}
		if err != nil {
			return job.Result{}, err
		}
	}
	if err := l.miss(ctx); err != nil {
		return job.Result{}, err
	}
	now := a.Now()
	return job.Result{Listing: &l.report, CompletedAt: &now}, nil
}

// folder is a folder in the store with a record.
type folder struct {
	// path is relative to the folder of the namespace.
	path string
	// archive reports whether the folder has a file that may be the archive.
	archive bool
}

// eachBackupFolder iterates over the folders with a record. It needs the files of a folder to be
// consecutive, but not the folders to be in order.
func (a *Agent) eachBackupFolder(ctx context.Context) iter.Seq2[folder, error] {
	return func(yield func(folder, error) bool) {
		var current folder
		record := false
		for object, err := range a.Store.List(ctx, a.Key+"/") {
			if err != nil {
				yield(folder{}, err)
				return
			}
			name := strings.TrimPrefix(object.Key, a.Key+"/")
			if dir := path.Dir(name); dir != current.path {
				if record && !yield(current, nil) {
					return
				}
				current, record = folder{path: dir}, false
			}
			record = record || path.Base(name) == commitName
			current.archive = current.archive || strings.HasPrefix(path.Base(name), archivePrefix)
		}
		if record {
			yield(current, nil)
		}
	}
}

// lister is the state of a listing.
type lister struct {
	*Agent
	known   listing.Known
	present map[string]bool
	report  listing.Report
}

// readFolder adds a folder with a record to the report.
func (l *lister) readFolder(ctx context.Context, f folder) error {
	l.report.Backups++
	standing, known := l.known[f.path]
	if known {
		// A store can list any number of other folders.
		l.present[f.path] = f.archive
	}
	switch {
	case known && standing == listing.Lost && f.archive:
		l.report.AddBack(f.path)
		return nil
	case known || l.report.Full():
		return nil
	case !f.archive:
		l.report.Skip(f.path, "it has a record but no archive")
		return nil
	}
	commit, err := l.recordAt(ctx, path.Join(l.Key, f.path, commitName))
	if err := l.fatal(err); err != nil {
		return err
	}
	if err != nil {
		l.report.Skip(f.path, err.Error())
		return nil
	}
	found, err := listing.FromCommit(l.Key, f.path, commit)
	if err != nil {
		l.report.Skip(f.path, err.Error())
		return nil
	}
	l.report.AddFound(found)
	return nil
}

// fatal returns an error that ends the listing, because the store itself fails. A bad record must
// not hide the others.
func (l *lister) fatal(err error) error {
	e, ok := errors.AsType[*store.Error](err)
	if ok && (e.Kind == store.Unavailable || e.BucketMissing || errors.Is(err, context.Canceled)) {
		return err
	}
	return nil
}

// miss reports expected backups that were not seen. It checks each of them in the store, since a
// listing can be outdated.
func (l *lister) miss(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(l.known)) {
		if l.known[name] != listing.Expected || l.present[name] {
			continue
		}
		if l.report.Full() {
			return nil
		}
		gone, err := l.gone(ctx, name)
		if err := l.fatal(err); err != nil {
			return err
		}
		if gone {
			l.report.AddMissing(name)
		}
	}
	return nil
}

// gone reports whether the record of a backup, or the archive that it names, does not exist. A
// damaged one exists.
func (l *lister) gone(ctx context.Context, name string) (bool, error) {
	key := path.Join(l.Key, name)
	commit, err := l.recordAt(ctx, path.Join(key, commitName))
	if err != nil {
		return absent(err), err
	}
	return l.withoutArchive(ctx, key, commit)
}

func (l *lister) withoutArchive(ctx context.Context, key string, commit archive.Commit) (bool, error) {
	in, _, err := l.Store.Open(ctx, path.Join(key, commit.Archive))
	if err != nil {
		return absent(err), err
	}
	return false, in.Close()
}
