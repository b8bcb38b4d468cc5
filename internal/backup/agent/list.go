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

// List compares the folder of a namespace with the backups that have objects, which are
// mounted. It reads the records of the others.
func (a *Agent) List(ctx context.Context) (job.Result, error) {
	l := lister{Agent: a, present: map[string]bool{}}
	err := a.pieces(func(in io.Reader) (err error) {
		l.known, err = listing.Unpack(in)
		return err
	})
	if err != nil {
		return job.Result{}, err
	}
	for f, err := range a.folders(ctx) {
		if err == nil {
			err = l.look(ctx, f)
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

// folder is one of the store with a record.
type folder struct {
	// path is below the folder of the namespace.
	path string
	// archive tells that there is a file that may be the archive.
	archive bool
}

// folders are those with a record. The files of each come one after the other, in whatever
// order the folders do.
func (a *Agent) folders(ctx context.Context) iter.Seq2[folder, error] {
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

// lister is one listing.
type lister struct {
	*Agent
	known   listing.Known
	present map[string]bool
	report  listing.Report
}

// look looks at a folder with a record.
func (l *lister) look(ctx context.Context, f folder) error {
	l.report.Backups++
	l.present[f.path] = f.archive
	standing, known := l.known[f.path]
	switch {
	case known && standing == listing.Lost && f.archive:
		l.report.AddBack(f.path)
		return nil
	case known || l.report.Full():
		return nil
	case !f.archive:
		l.report.Skip(f.path, "there is no archive beside the record")
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
	found, err := listing.Read(l.Key, f.path, commit)
	if err != nil {
		l.report.Skip(f.path, err.Error())
		return nil
	}
	l.report.AddFound(found)
	return nil
}

// fatal is an error that ends the listing: the store is in trouble. What is wrong with one
// record is no reason to see none.
func (l *lister) fatal(err error) error {
	e, ok := errors.AsType[*store.Error](err)
	if ok && (e.Kind == store.Unavailable || e.BucketMissing || errors.Is(err, context.Canceled)) {
		return err
	}
	return nil
}

// miss looks for the backups that should be there and were not seen. Only what the store says
// of each of them counts: a listing can be behind.
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

// gone tells that the record of a backup, or the archive that it names, is not there. Whatever
// else is wrong with them, they are there.
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
