package supervise

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
)

// mounts are the folders of Options.ReloadOn. nginx reads them when it loads a configuration, from
// where they are mounted: unlike certificates, the files from before are gone once the kubelet has
// switched to new ones. So what nginx refuses stays due, and is tried again.
type mounts struct {
	dirs []string
	// found are the versions at the last look, read those that nginx's workers were started with.
	found, read []string
	// refused are the versions that nginx did not take, so many times in a row, and why.
	refused  []string
	failures int
	problems []instanceapi.Problem
	retry    time.Time
}

// versions are those that the folders have now.
func (m *mounts) versions() []string {
	var all []string
	for _, dir := range m.dirs {
		all = append(all, volumes.Version(dir))
	}
	return all
}

// look tells whether a folder has changed since the last look.
func (m *mounts) look() bool {
	before := m.found
	m.found = m.versions()
	return before != nil && !slices.Equal(before, m.found)
}

// changed tells whether nginx has to read the folders again.
func (m *mounts) changed() bool { return !slices.Equal(m.found, m.read) }

// due is when nginx may be reloaded: at once for what it has not refused yet.
func (m *mounts) due() time.Time {
	if !slices.Equal(m.found, m.refused) {
		return time.Time{}
	}
	return m.retry
}

// served notes the versions that nginx's workers have read.
func (m *mounts) served(versions []string) {
	m.read, m.refused, m.failures, m.problems = versions, nil, 0, nil
}

// refuse notes the versions that nginx did not take.
func (m *mounts) refuse(versions []string, found []instanceapi.Problem, now time.Time) {
	if !slices.Equal(versions, m.refused) {
		m.failures = 0
	}
	m.refused, m.problems = versions, found
	m.retry = now.Add(backOff(m.failures))
	m.failures++
}

// report is why nginx has not read what the folders have now.
func (m *mounts) report() []instanceapi.Problem {
	if !m.changed() {
		return nil
	}
	return slices.Clone(m.problems)
}

// retryMounts is when nginx may be reloaded for changed files: not while what it has loaded is on
// probation, since a reload would end that.
func (s *Supervisor) retryMounts() time.Time {
	due := s.mounts.due()
	if p := s.probation; p != nil && p.before.dir != "" && p.until.After(due) {
		return p.until
	}
	return due
}

// reloadMounts lets nginx read the mounted files that have changed.
func (s *Supervisor) reloadMounts(ctx context.Context) {
	versions := s.mounts.versions()
	if !slices.Equal(versions, s.mounts.refused) {
		slog.Info("mounted files have changed", "folders", s.mounts.dirs)
	}
	found := s.reload(ctx)
	// Going back to what was served reads the files, too, and may succeed.
	if len(found) > 0 && ctx.Err() == nil && !slices.Equal(versions, s.mounts.read) {
		s.mounts.refuse(versions, found, time.Now())
	}
}
