// Package agent is the program in the pods of jobs. It writes the archive of a backup, reads it back
// and commits it; it deletes a backup; it verifies a backup, serves its declarations and restores the
// files of volumes; or it lists a store.
//
// In the store, each backup has its own folder. Each attempt writes an archive with its own name. The
// A commit record names the first archive that was read back completely, and is created only once. So
// an attempt that dies leaves nothing that looks like a backup, concurrent attempts do not interfere,
// and an attempt after a success finds the backup.
//
//	<namespace>/<application>/<backup>/data-1-x7k2m4qz.tar.gz
//	<namespace>/<application>/<backup>/backup.json
//
// The agent does not access Kubernetes: its input is mounted, and its result is the termination
// message of the container.
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

// Dirs holds the mount points in the pod, see the constants of package job.
type Dirs struct {
	Snapshot, Content, Secrets, Scratch string
}

// Agent works on one backup.
type Agent struct {
	Store *store.Store
	Dirs  Dirs
	// Key is the folder of the backup or, for List, of a namespace. UID is the UID of the backup's
	// object, or its beginning.
	Key, UID string
	// SHA256 is the expected hash of the archive in hexadecimal. If it is empty, any archive is
	// accepted.
	SHA256 string
	// Attempt is the number of the job. Nonce differs for each run, since numbers repeat after a
	// user deletes jobs.
	Attempt int
	Nonce   string
	// Now returns the present time.
	Now func() time.Time
}

const (
	commitName    = "backup.json"
	archivePrefix = "data-"
	archiveSuffix = ".tar.gz"
	// commitLimit bounds a commit record, in bytes. It is larger than any valid one.
	commitLimit = 8 << 20
)

func (a *Agent) archiveName() string {
	return fmt.Sprintf("%s%d-%s%s", archivePrefix, a.Attempt, a.Nonce, archiveSuffix)
}

func (a *Agent) path(name string) string { return path.Join(a.Key, name) }

// readCommit returns the record of a successful attempt of this backup, or nil if there is none.
func (a *Agent) readCommit(ctx context.Context) (*archive.Commit, error) {
	commit, err := a.record(ctx)
	// For a backup that was created under another object, only the beginning of the UID is known.
	if commit != nil && !strings.HasPrefix(commit.Info.UID, a.UID) {
		return nil, &foreignError{key: a.path(commitName), uid: commit.Info.UID}
	}
	return commit, err
}

// record returns the commit record in the folder, whatever object it belongs to, or nil if there is
// none.
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

// absent reports whether an error means that an object does not exist in an existing bucket.
func absent(err error) bool {
	e, ok := errors.AsType[*store.Error](err)
	return ok && e.Kind == store.NotFound && !e.BucketMissing
}

// foreignError reports that the folder contains another backup. The folder's name includes 8 digits
// of a random UID, so a user must have put it there.
type foreignError struct{ key, uid string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s is the record of another backup, with the UID %s: move it away", e.key, e.uid)
}

// result returns the result for a commit record. at is the time of completion, unless the record
// has one.
func (a *Agent) result(commit archive.Commit, at time.Time, missing []string) job.Result {
	if commit.CompletedAt != nil {
		at = *commit.CompletedAt
	}
	return job.Result{
		Archive: a.path(commit.Archive), Size: commit.Size, SHA256: commit.SHA256,
		Totals: &commit.Totals, Missing: missing, CompletedAt: &at,
	}
}

// Failed returns the result of an attempt that ended with an error.
func Failed(err error) job.Result {
	return job.Result{Failure: &job.Failure{Reason: reasonOf(err), Message: strings.TrimSpace(err.Error())}}
}

// reasonOf returns the reason of the Completed condition for an error.
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

// create writes a small object that must not exist yet.
func (a *Agent) create(ctx context.Context, key string, text []byte) error {
	return a.Store.Create(ctx, key, int64(len(text)), func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(text))
		return err
	})
}
