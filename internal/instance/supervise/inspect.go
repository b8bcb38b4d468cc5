package supervise

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// folders are the results of the last inspection of the mounted folders. The files themselves are
// not kept in memory.
type folders struct {
	stable, next mounted
	// requested is what the operator requested last. Until it has requested something, ordered is not
	// set: failed loads of an earlier process are not forgotten.
	requested instanceapi.Requested
	ordered   bool
	// hints came with the request.
	hints instanceapi.Hints
}

// mounted is a mounted configuration.
type mounted struct {
	version, revision string
}

func (s *Supervisor) inspect(ctx context.Context) {
	s.folders.stable.refresh(s.Stable)
	s.folders.next.refresh(s.Next)
	s.takeRequest()
	if due := s.retryCertificates; !due.IsZero() && time.Now().After(due) {
		s.retryCertificates = time.Time{}
		s.Certs.Retry()
	}
	s.Certs.Refresh(time.Now(), s.hosts)
	s.fillCertificateGaps()
	if s.mounts.refresh() {
		s.inputs++
	}
	if revision := s.tested.revision; revision != "" && revision != s.folders.requested.Test && revision != s.folders.requested.Load {
		s.dropTested()
	}
	s.past.allowDueRetries(time.Now())
	s.watchProbation(ctx, time.Now())
	s.old.refresh(s.Proc, s.master)
	inUse := []string{s.serving.revision, s.folders.stable.revision}
	if s.probation != nil {
		// What is known of it is needed to roll back.
		inUse = append(inUse, s.probation.before.revision)
	}
	if s.folders.ordered {
		for _, revision := range s.past.forget(s.folders.requested, inUse...) {
			s.logged(s.Journal.Forget(revision))
		}
	}
	s.prune(inUse...)
}

// fillCertificateGaps lets nginx start although some Secrets have no good pair. nginx that runs keeps the last good ones.
func (s *Supervisor) fillCertificateGaps() {
	if s.master.Running() {
		return
	}
	filled, err := s.Certs.FillGaps()
	if err != nil {
		slog.Error("nginx has no placeholder for a certificate", "error", err)
	}
	if filled {
		s.inputs++
		slog.Warn("nginx starts without some certificates, to serve the other hosts: clients reject the connections to theirs")
	}
}

// hosts returns the server names for which a certificate is used. While nginx starts, these are the names in the
// certificate that it used before, until nginx refuses the configuration with it.
func (s *Supervisor) hosts(name string, used *x509.Certificate) []string {
	switch {
	case s.master.Running():
		return s.past.of(s.serving.revision).facts.hosts[name]
	case s.past.of(s.folders.stable.revision).Test == instanceapi.Failed:
		return nil
	}
	return used.DNSNames
}

func (m *mounted) refresh(dir string) {
	version := volumes.Version(dir)
	if version != "" && version == m.version {
		return
	}
	files, err := read(dir)
	if err != nil {
		slog.Warn("cannot read a configuration", "error", err)
		return
	}
	m.version, m.revision = version, ""
	if len(files) > 0 {
		m.revision = nginxconf.Revision(files)
	}
}

// read returns the files of a mounted configuration. The trust file is not one of them.
func read(dir string) (map[string]string, error) {
	files, err := volumes.Read(dir)
	delete(files, instanceapi.FileTrust)
	return files, err
}

// atHand reports whether find can return the files of a revision.
func (s *Supervisor) atHand(revision string) bool { return slices.Contains(s.available(), revision) }

// available returns the revisions whose files are at hand, sorted.
func (s *Supervisor) available() []string {
	all := s.Store.Revisions()
	for _, revision := range []string{s.folders.next.revision, s.folders.stable.revision} {
		if revision != "" {
			all = append(all, revision)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// keep keeps the files of a revision, which may be mounted only for now.
func (s *Supervisor) keep(revision string) error {
	if s.Store.Has(revision) {
		return nil
	}
	_, err := s.find(revision)
	return err
}

// find returns the user's files of a revision, and keeps them in the store.
func (s *Supervisor) find(revision string) (map[string]string, error) {
	if s.Store.Has(revision) {
		return s.Store.Find(revision)
	}
	for _, dir := range []string{s.Next, s.Stable} {
		files, err := read(dir)
		if err != nil {
			return nil, err
		}
		if nginxconf.Revision(files) == revision {
			return files, s.Store.SaveRevision(revision, files)
		}
	}
	return nil, fmt.Errorf("the files of revision %s are gone", revision)
}
