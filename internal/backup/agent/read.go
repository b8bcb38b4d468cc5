package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/handover"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/restoration"
)

// Reading is what Read needs to know.
type Reading struct {
	// Listen is the address that the operator asks, Token how it is known.
	Listen, Token string
	// Patience is how long to wait for the operator to have enough.
	Patience time.Duration
}

// Read verifies the whole backup, and then hands over what it declares until it is told to end.
// Its only result is why it ended before that.
func (a *Agent) Read(ctx context.Context, r Reading) (job.Result, error) {
	head, files, err := a.documents(ctx)
	if err != nil {
		return job.Result{}, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.Listen)
	if err != nil {
		return job.Result{}, err
	}
	server := &http.Server{Handler: handover.Handler(r.Token, head, files), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer server.Close() //nolint:errcheck // nobody is left to be told
	select {
	case err := <-failed:
		return job.Result{}, err
	case <-ctx.Done():
		return job.Result{}, errors.New("the pod was told to end before the backup was restored")
	case <-time.After(r.Patience):
		return job.Result{}, fmt.Errorf("the operator did not ask for what the backup declares within %s", r.Patience)
	}
}

// documents reads the archive to its end, and keeps the declarations.
func (a *Agent) documents(ctx context.Context) (handover.Head, []archive.File, error) {
	commit, err := a.source(ctx)
	if err != nil {
		return handover.Head{}, nil, err
	}
	in, err := a.open(ctx, commit)
	if err != nil {
		return handover.Head{}, nil, err
	}
	info, files, err := archive.ReadDocuments(ctx, in, commit, archive.DefaultLimits())
	if err := errors.Join(err, in.Close()); err != nil {
		return handover.Head{}, nil, err
	}
	declared, err := declarations(files)
	return handover.Head{Info: info, SHA256: commit.SHA256}, declared, err
}

// declarations are the documents that are handed over, as JSON.
func declarations(files []archive.File) ([]archive.File, error) {
	var declared []archive.File
	for _, f := range files {
		if !handover.Declares(f.Path) {
			continue
		}
		text, err := restoration.ToJSON(f.Data)
		if err != nil {
			return nil, &sourceError{v1alpha1.ReasonNotUsable, fmt.Sprintf("%s: %v", f.Path, err)}
		}
		declared = append(declared, archive.File{Path: f.Path, Data: text})
	}
	return declared, nil
}

// source is the record of the backup that is to be read.
func (a *Agent) source(ctx context.Context) (archive.Commit, error) {
	commit, err := a.record(ctx)
	switch {
	case err != nil:
		return archive.Commit{}, err
	case commit == nil:
		return archive.Commit{}, &sourceError{v1alpha1.ReasonBackupNotFound, fmt.Sprintf("there is no backup in %s: it has no %s", a.Key, commitName)}
	case a.SHA256 != "" && a.SHA256 != commit.SHA256:
		return archive.Commit{}, &sourceError{v1alpha1.ReasonDamaged, fmt.Sprintf(
			"the archive in %s is said to have the digest sha256:%s, and the NginxBackup says sha256:%s", a.Key, commit.SHA256, a.SHA256)}
	}
	return *commit, nil
}

// sourceError tells of a folder that does not have the backup that is asked for.
type sourceError struct{ reason, message string }

func (e *sourceError) Error() string { return e.message }

func (a *Agent) open(ctx context.Context, commit archive.Commit) (io.ReadCloser, error) {
	in, _, err := a.Store.Open(ctx, a.path(commit.Archive))
	return in, err
}
