package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// folders are the results of the last inspection of the mounted folders. The files themselves are
// not kept in memory.
type folders struct {
	stable, next mounted
	requested    instanceapi.Requested
}

// mounted is a mounted configuration.
type mounted struct {
	version, revision string
}

func (s *Supervisor) inspect(ctx context.Context) {
	s.folders.stable.refresh(s.Stable)
	s.folders.next.refresh(s.Next)
	s.readRequests()
	if due := s.retryCertificates; !due.IsZero() && time.Now().After(due) {
		s.retryCertificates = time.Time{}
		s.Certs.Retry()
	}
	s.Certs.Refresh()
	if s.mounts.refresh() {
		s.inputs++
	}
	s.past.allowDueRetries(time.Now())
	s.watchProbation(ctx, time.Now())
	s.old.refresh(s.Proc, s.master)
	inUse := []string{s.serving.revision, s.folders.stable.revision}
	for _, revision := range s.past.forget(s.folders.requested, inUse...) {
		s.logged(s.Journal.Forget(revision))
	}
	s.Store.PruneRevisions(append(inUse, s.folders.requested.Test, s.folders.requested.Load)...)
}

func (m *mounted) refresh(dir string) {
	version := volumes.Version(dir)
	if version != "" && version == m.version {
		return
	}
	files, err := volumes.Read(dir)
	if err != nil {
		slog.Warn("cannot read a configuration", "error", err)
		return
	}
	m.version, m.revision = version, ""
	if len(files) > 0 {
		m.revision = nginxconf.Revision(files)
	}
}

func (s *Supervisor) readRequests() {
	files, err := volumes.Read(s.Requests)
	if err != nil {
		slog.Warn("cannot read the pod's annotations", "error", err)
		return
	}
	s.folders.requested = instanceapi.Requested{
		Test:      strings.TrimSpace(files[instanceapi.FileTest]),
		Load:      strings.TrimSpace(files[instanceapi.FileLoad]),
		TokenHash: strings.TrimSpace(files[instanceapi.FileTokenHash]),
	}
}

// atHand reports whether find can return the files of a revision.
func (s *Supervisor) atHand(revision string) bool {
	return slices.Contains([]string{s.folders.next.revision, s.folders.stable.revision}, revision) || s.Store.Has(revision)
}

// find returns the user's files of a revision, and keeps them in the store.
func (s *Supervisor) find(revision string) (map[string]string, error) {
	if s.Store.Has(revision) {
		return s.Store.Find(revision)
	}
	for _, dir := range []string{s.Next, s.Stable} {
		files, err := volumes.Read(dir)
		if err != nil {
			return nil, err
		}
		if nginxconf.Revision(files) == revision {
			return files, s.Store.SaveRevision(revision, files)
		}
	}
	return nil, fmt.Errorf("the files of revision %s are gone", revision)
}
