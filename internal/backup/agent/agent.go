// Package agent is what the pod of a job does: it writes the archive of a backup, reads it back,
// and commits it; it deletes it; it verifies it, hands over what it declares, and brings the
// files of volumes back; or it lists a store.
//
// In the store, a backup is a folder of its own. Each attempt writes an archive of its own
// name, and the first that is read back whole is named by the commit record, which is created
// once. So an attempt that dies leaves nothing that looks like a backup, two at a time do not
// mix, and one that comes after a success finds it.
//
//	<namespace>/<application>/<backup>/data-1-x7k2m4qz.tar.gz
//	<namespace>/<application>/<backup>/backup.json
//
// The agent knows no Kubernetes: what it needs is mounted, and what it found is the
// container's termination message.
package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/store"
)

// Dirs are the folders that things are mounted at, see the constants of package job.
type Dirs struct {
	Snapshot, Content, Secrets, Scratch string
}

// Agent works on one backup.
type Agent struct {
	Store *store.Store
	Dirs  Dirs
	// Key of the backup's folder, and the UID of its object, or how that begins; to list, the
	// folder of a namespace.
	Key, UID string
	// SHA256 of the archive that is read, in hexadecimal; empty: any.
	SHA256 string
	// Attempt numbers the job, and Nonce is another one for each run: who deletes jobs makes
	// the numbers begin again.
	Attempt int
	Nonce   string
	// Now is the time.
	Now func() time.Time
}

const (
	commitName    = "backup.json"
	archivePrefix = "data-"
	archiveSuffix = ".tar.gz"
	// commitLimit is more than any commit record has, in bytes.
	commitLimit = 8 << 20
)

func (a *Agent) archiveName() string {
	return fmt.Sprintf("%s%d-%s%s", archivePrefix, a.Attempt, a.Nonce, archiveSuffix)
}

func (a *Agent) path(name string) string { return path.Join(a.Key, name) }

// commit is the record of an attempt of this backup that succeeded; nil: none has.
func (a *Agent) commit(ctx context.Context) (*archive.Commit, error) {
	commit, err := a.record(ctx)
	// Of a backup that was made under another object, only the beginning of its UID is known.
	if commit != nil && !strings.HasPrefix(commit.Info.UID, a.UID) {
		return nil, &foreignError{key: a.path(commitName), uid: commit.Info.UID}
	}
	return commit, err
}

// record is the commit record in the folder, whoever wrote it; nil: there is none.
func (a *Agent) record(ctx context.Context) (*archive.Commit, error) {
	commit, err := a.recordAt(ctx, a.path(commitName))
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &commit, nil
}

func (a *Agent) recordAt(ctx context.Context, key string) (archive.Commit, error) {
	in, _, err := a.Store.Open(ctx, key)
	if err != nil {
		return archive.Commit{}, err
	}
	text, err := io.ReadAll(io.LimitReader(in, commitLimit))
	if err := errors.Join(err, in.Close()); err != nil {
		return archive.Commit{}, err
	}
	commit, err := archive.ParseCommit(text)
	if err != nil {
		return archive.Commit{}, fmt.Errorf("read %s: %w", key, err)
	}
	return commit, nil
}

// absent tells that an object is not there, in a bucket that is.
func absent(err error) bool {
	e, ok := errors.AsType[*store.Error](err)
	return ok && e.Kind == store.NotFound && !e.BucketMissing
}

// foreignError tells that there is another backup in the folder. It carries 8 digits of a
// random UID in its name, so somebody must have put it there.
type foreignError struct{ key, uid string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s is the record of another backup, with the UID %s: move it away", e.key, e.uid)
}

// result is that of a commit. at is when it was completed, if it does not say so itself.
func (a *Agent) result(commit archive.Commit, at time.Time, missing []string) job.Result {
	if commit.CompletedAt != nil {
		at = *commit.CompletedAt
	}
	return job.Result{
		Archive: a.path(commit.Archive), Size: commit.Size, SHA256: commit.SHA256,
		Totals: &commit.Totals, Missing: missing, CompletedAt: &at,
	}
}

// Failed is the result of an attempt that ended with an error.
func Failed(err error) job.Result {
	return job.Result{Failure: &job.Failure{Reason: reasonOf(err), Message: strings.TrimSpace(err.Error())}}
}

// reasonOf is the reason of the condition Completed for an error.
func reasonOf(err error) string {
	if e, ok := errors.AsType[*store.Error](err); ok {
		return reasonOfStore(e.Kind)
	}
	if e, ok := errors.AsType[*sourceError](err); ok {
		return e.reason
	}
	if _, ok := errors.AsType[*archive.RefusedError](err); ok {
		return v1alpha1.ReasonDamaged
	}
	if _, ok := errors.AsType[*archive.ConflictError](err); ok {
		return v1alpha1.ReasonConflict
	}
	if _, ok := errors.AsType[*foreignError](err); ok {
		return v1alpha1.ReasonStoreFailed
	}
	return v1alpha1.ReasonSourceFailed
}

func reasonOfStore(kind store.Kind) string {
	switch kind {
	case store.Unavailable:
		return v1alpha1.ReasonStoreUnavailable
	case store.Denied:
		return v1alpha1.ReasonStoreDenied
	case store.NotFound:
		return v1alpha1.ReasonStoreNotFound
	case store.Full:
		return v1alpha1.ReasonStoreFull
	case store.Exists, store.Other:
	}
	return v1alpha1.ReasonStoreFailed
}

// create puts a small object where none is yet.
func (a *Agent) create(ctx context.Context, key string, text []byte) error {
	return a.Store.Create(ctx, key, int64(len(text)), func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(text))
		return err
	})
}
