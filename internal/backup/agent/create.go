package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/internal/backup/store"
)

// Create makes sure that the backup is complete, in its final location, and readable.
func (a *Agent) Create(ctx context.Context) (job.Result, error) {
	done, err := a.readCommit(ctx)
	if err != nil {
		return job.Result{}, err
	}
	if done != nil {
		// An earlier attempt succeeded, but its result was lost.
		return a.result(*done, a.Now(), nil), a.sweep(ctx, done.Archive)
	}
	s, err := a.readSnapshot()
	if err != nil {
		return job.Result{}, err
	}
	missing, err := a.fingerprints(&s)
	if err != nil {
		return job.Result{}, err
	}
	commit, err := a.write(ctx, s)
	if err != nil {
		return job.Result{}, err
	}
	contents, err := a.verify(ctx, commit)
	if err != nil {
		return job.Result{}, errors.Join(err, a.Store.Delete(ctx, a.path(commit.Archive)))
	}
	result, err := a.commitArchive(ctx, commit, missing)
	result.Skipped = skippedFiles(contents)
	return result, err
}

// commitArchive commits the archive, unless another attempt was faster, and deletes the archives that are
// not committed.
func (a *Agent) commitArchive(ctx context.Context, commit archive.Commit, missing []string) (job.Result, error) {
	now := a.Now().UTC().Truncate(time.Second)
	commit.CompletedAt = &now
	text, err := commit.Encode()
	if err != nil {
		return job.Result{}, err
	}
	err = a.create(ctx, a.path(commitName), text)
	if store.KindOf(err) == store.Exists {
		// It may be this attempt's own record, if the response to the write was lost.
		first, err := a.readCommit(ctx)
		if err != nil {
			return job.Result{}, err
		}
		if first == nil {
			return job.Result{}, fmt.Errorf("%s exists, but reading it returns nothing", a.path(commitName))
		}
		commit, missing = *first, nil
	} else if err != nil {
		return job.Result{}, err
	}
	return a.result(commit, a.Now(), missing), a.sweep(ctx, commit.Archive)
}

// readSnapshot reads the mounted snapshot.
func (a *Agent) readSnapshot() (s snapshot.Snapshot, err error) {
	err = a.readSnapshotPieces(func(in io.Reader) error {
		s, err = snapshot.Unpack(in)
		return err
	})
	return s, err
}

// readSnapshotPieces passes the concatenated pieces that are mounted to read.
func (a *Agent) readSnapshotPieces(read func(io.Reader) error) error {
	names, err := filepath.Glob(filepath.Join(a.Dirs.Snapshot, "[0-9]*"))
	if err != nil || len(names) == 0 {
		return errors.Join(fmt.Errorf("no snapshot is mounted at %s", a.Dirs.Snapshot), err)
	}
	var pieces []io.Reader
	for _, name := range names {
		piece, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = piece.Close() }()
		pieces = append(pieces, piece)
	}
	return read(io.MultiReader(pieces...))
}

// write writes the archive of this attempt.
func (a *Agent) write(ctx context.Context, s snapshot.Snapshot) (archive.Commit, error) {
	recipients, err := parseRecipients(s.Recipients)
	if err != nil {
		return archive.Commit{}, err
	}
	spool, err := os.CreateTemp(a.Dirs.Scratch, "manifest-")
	if err != nil {
		return archive.Commit{}, err
	}
	defer func() { _ = errors.Join(spool.Close(), os.Remove(spool.Name())) }()
	size, err := a.contentSize(s)
	if err != nil {
		return archive.Commit{}, err
	}
	var summary archive.Summary
	err = a.Store.Write(ctx, a.path(a.archiveName()), size, func(w io.Writer) error {
		out, err := archive.NewWriter(ctx, w, s.Info, spool, archive.DefaultLimits())
		if err != nil {
			return err
		}
		summary, err = a.fill(out, s, recipients)
		return err
	})
	if err != nil {
		return archive.Commit{}, err
	}
	return archive.NewCommit(a.archiveName(), s.Info, summary), nil
}

func (a *Agent) fill(out *archive.Writer, s snapshot.Snapshot, recipients []age.Recipient) (archive.Summary, error) {
	if err := out.Documents(s.Documents); err != nil {
		return archive.Summary{}, err
	}
	for i, v := range s.Volumes {
		if err := a.content(out, i); err != nil {
			return archive.Summary{}, fmt.Errorf("read PersistentVolumeClaim %s: %w", v.Claim, err)
		}
	}
	if len(recipients) > 0 {
		for _, secret := range s.Secrets {
			if err := a.secret(out, secret.Name, recipients); err != nil {
				return archive.Summary{}, fmt.Errorf("read Secret %s: %w", secret.Name, err)
			}
		}
	}
	return out.Close()
}

func (a *Agent) content(out *archive.Writer, index int) (err error) {
	root, err := os.OpenRoot(a.contentDir(index))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return out.Content(index, root)
}

func (a *Agent) contentDir(index int) string {
	return filepath.Join(a.Dirs.Content, strconv.Itoa(index))
}

// contentSize returns the approximate size of the volumes: a store has to know whether to expect
// megabytes or terabytes. It ignores errors, which occur again when the files are read.
func (a *Agent) contentSize(s snapshot.Snapshot) (int64, error) {
	var size int64
	for i := range s.Volumes {
		err := filepath.WalkDir(a.contentDir(i), func(_ string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil //nolint:nilerr // reading it later tells, with its name
			}
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// verify reads the archive back.
func (a *Agent) verify(ctx context.Context, commit archive.Commit) (contents archive.Contents, err error) {
	in, _, err := a.Store.Open(ctx, a.path(commit.Archive))
	if err != nil {
		return contents, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	contents, err = archive.Verify(ctx, in, commit, archive.DefaultLimits())
	if err != nil {
		return contents, fmt.Errorf("read %s back: %w", a.path(commit.Archive), err)
	}
	return contents, nil
}

// sweep deletes the archives of attempts that were not committed.
func (a *Agent) sweep(ctx context.Context, keep string) error {
	for object, err := range a.Store.List(ctx, a.Key+"/") {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(object.Key, a.Key+"/")
		if name == keep || !strings.HasPrefix(name, archivePrefix) {
			continue
		}
		if err := a.Store.Delete(ctx, object.Key); err != nil {
			return err
		}
	}
	return nil
}

func parseRecipients(texts []string) ([]age.Recipient, error) {
	var recipients []age.Recipient
	for _, text := range texts {
		recipient, err := age.ParseX25519Recipient(text)
		if err != nil {
			return nil, fmt.Errorf("includeSecrets.ageRecipients: %q: %w", text, err)
		}
		recipients = append(recipients, recipient)
	}
	return recipients, nil
}
