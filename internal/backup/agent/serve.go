package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/declarations"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/restoration"
	"example.com/nginx-operator/internal/httpserver"
)

// serveLimits bound the clients of the pod. The operator and the kubelet send a request at a time, without a body.
var serveLimits = httpserver.Limits{
	Connections: 64, Header: 8 << 10, ReadHeader: 5 * time.Second, Read: 5 * time.Second, Write: time.Minute, Idle: 10 * time.Second,
	RequestRate: 10, RequestBurst: 50,
}

// ReadOptions holds the settings of Read.
type ReadOptions struct {
	// Listen is the address to serve the operator at. Token is the token that the operator
	// presents.
	Listen, Token string
	// Timeout bounds the time for which the pod serves the operator.
	Timeout time.Duration
}

// Read verifies the whole backup and then serves its declarations until the context ends or the
// timeout expires. It always returns an error, which says why it ended.
func (a *Agent) Read(ctx context.Context, r ReadOptions) (job.Result, error) {
	head, files, err := a.documents(ctx)
	if err != nil {
		return job.Result{}, err
	}
	listener, err := httpserver.Listen(ctx, r.Listen)
	if err != nil {
		return job.Result{}, err
	}
	server := httpserver.New(declarations.Handler(r.Token, head, files), serveLimits, nil)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener, nil) }()
	defer server.Close() //nolint:errcheck // nobody is left to be told
	select {
	case err := <-failed:
		return job.Result{}, err
	case <-ctx.Done():
		return job.Result{}, errors.New("the pod was terminated before the backup was restored")
	case <-time.After(r.Timeout):
		return job.Result{}, fmt.Errorf("the operator did not request the backup's declarations within %s", r.Timeout)
	}
}

// documents reads and verifies the archive, and returns its declarations.
func (a *Agent) documents(ctx context.Context) (declarations.BackupInfo, []archive.File, error) {
	commit, err := a.source(ctx)
	if err != nil {
		return declarations.BackupInfo{}, nil, err
	}
	in, err := a.open(ctx, commit)
	if err != nil {
		return declarations.BackupInfo{}, nil, err
	}
	info, files, err := archive.ReadDocuments(ctx, in, commit, archive.DefaultLimits())
	if err := errors.Join(err, in.Close()); err != nil {
		return declarations.BackupInfo{}, nil, err
	}
	declared, err := declaredFiles(files)
	return declarations.BackupInfo{Info: info, SHA256: commit.SHA256}, declared, err
}

// declaredFiles returns the documents that are served, as JSON.
func declaredFiles(files []archive.File) ([]archive.File, error) {
	var declared []archive.File
	for _, f := range files {
		if !declarations.IsManifest(f.Path) {
			continue
		}
		text, err := restoration.YAMLToJSON(f.Data)
		if err != nil {
			return nil, &sourceError{v1alpha1.ReasonNotUsable, fmt.Sprintf("%s: %v", f.Path, err)}
		}
		declared = append(declared, archive.File{Path: f.Path, Data: text})
	}
	return declared, nil
}

// source returns the record of the backup to read.
func (a *Agent) source(ctx context.Context) (archive.Commit, error) {
	commit, err := a.record(ctx)
	switch {
	case err != nil:
		return archive.Commit{}, err
	case commit == nil:
		return archive.Commit{}, &sourceError{v1alpha1.ReasonBackupNotFound, fmt.Sprintf("there is no backup in %s: it has no %s", a.Key, commitName)}
	case a.SHA256 != "" && a.SHA256 != commit.SHA256:
		return archive.Commit{}, &sourceError{v1alpha1.ReasonDamaged, fmt.Sprintf(
			"the commit record in %s has the digest sha256:%s, but the NginxBackup has sha256:%s", a.Key, commit.SHA256, a.SHA256)}
	}
	return *commit, nil
}

// sourceError reports that a folder does not contain the requested backup, with the reason of the
// condition.
type sourceError struct{ reason, message string }

func (e *sourceError) Error() string { return e.message }

func (a *Agent) open(ctx context.Context, commit archive.Commit) (io.ReadCloser, error) {
	in, _, err := a.Store.Open(ctx, a.path(commit.Archive))
	return in, err
}
