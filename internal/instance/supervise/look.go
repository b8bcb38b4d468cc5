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
	"example.com/nginx-operator/internal/nginxconf"
)

// folders are what was seen in them last. Files are not kept in memory.
type folders struct {
	stable, next mounted
	requested    instanceapi.Requested
}

// mounted is a mounted configuration.
type mounted struct {
	version, revision string
}

func (s *Supervisor) look(ctx context.Context) {
	s.folders.stable.look(s.Stable)
	s.folders.next.look(s.Next)
	s.lookAtRequests()
	if due := s.retryCertificates; !due.IsZero() && time.Now().After(due) {
		s.retryCertificates = time.Time{}
		s.Certs.Retry()
	}
	s.Certs.Look()
	if s.mounts.look() {
		s.inputs++
	}
	s.past.forgive(time.Now())
	s.watchProbation(ctx, time.Now())
	s.old.look(s.Proc, s.master)
	inUse := []string{s.serving.revision, s.folders.stable.revision}
	for _, revision := range s.past.forget(s.folders.requested, inUse...) {
		s.logged(s.Journal.Forget(revision))
	}
	s.Store.Forget(append(inUse, s.folders.requested.Test, s.folders.requested.Load)...)
}

func (m *mounted) look(dir string) {
	version := volumes.Version(dir)
	if version != "" && version == m.version {
		return
	}
	files, err := volumes.Read(dir)
	if err != nil {
		slog.Warn("look at a configuration", "error", err)
		return
	}
	m.version, m.revision = version, ""
	if len(files) > 0 {
		m.revision = nginxconf.Revision(files)
	}
}

func (s *Supervisor) lookAtRequests() {
	files, err := volumes.Read(s.Requests)
	if err != nil {
		slog.Warn("look at the requests", "error", err)
		return
	}
	s.folders.requested = instanceapi.Requested{
		Test:  strings.TrimSpace(files[instanceapi.FileTest]),
		Load:  strings.TrimSpace(files[instanceapi.FileLoad]),
		Grant: strings.TrimSpace(files[instanceapi.FileGrant]),
	}
}

// atHand tells whether find will find.
func (s *Supervisor) atHand(revision string) bool {
	return slices.Contains([]string{s.folders.next.revision, s.folders.stable.revision}, revision) || s.Store.Has(revision)
}

// find returns the user's files of a revision, and keeps them.
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
			return files, s.Store.Keep(revision, files)
		}
	}
	return nil, fmt.Errorf("the files of revision %s are gone", revision)
}
