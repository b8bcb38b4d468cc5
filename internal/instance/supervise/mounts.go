package supervise

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"example.com/nginx-operator/internal/instance/volumes"
	"example.com/nginx-operator/internal/instanceapi"
)

// mounts are the folders of Options.ReloadOn. nginx reads them from their mount points when it
// loads a configuration. Unlike with certificates, the previous files are gone once the kubelet has
// switched to new ones, so files that nginx refuses stay due and are tried again.
type mounts struct {
	dirs []string
	// found are the versions at the last refresh, and read are those that nginx's workers were
	// started with.
	found, read []string
	// refused are the versions that nginx refused, failures is how many times in a row, and
	// problems is why.
	refused  []string
	failures int
	problems []instanceapi.Problem
	retry    time.Time
}

// versions returns the current versions of the folders.
func (m *mounts) versions() []string {
	var all []string
	for _, dir := range m.dirs {
		all = append(all, volumes.Version(dir))
	}
	return all
}

// refresh reports whether a folder has changed since the last refresh.
func (m *mounts) refresh() bool {
	before := m.found
	m.found = m.versions()
	return before != nil && !slices.Equal(before, m.found)
}

// changed reports whether nginx has to read the folders again.
func (m *mounts) changed() bool { return !slices.Equal(m.found, m.read) }

// due returns when nginx may be reloaded: at once for versions that it has not refused yet.
func (m *mounts) due() time.Time {
	if !slices.Equal(m.found, m.refused) {
		return time.Time{}
	}
	return m.retry
}

// served records the versions that nginx's workers have read.
func (m *mounts) served(versions []string) {
	m.read, m.refused, m.failures, m.problems = versions, nil, 0, nil
}

// refuse records the versions that nginx refused.
func (m *mounts) refuse(versions []string, found []instanceapi.Problem, now time.Time) {
	if !slices.Equal(versions, m.refused) {
		m.failures = 0
	}
	m.refused, m.problems = versions, found
	m.retry = now.Add(backOff(m.failures))
	m.failures++
}

// report returns why nginx has not read the current contents of the folders.
func (m *mounts) report() []instanceapi.Problem {
	if !m.changed() {
		return nil
	}
	return slices.Clone(m.problems)
}

// retryMounts returns when nginx may be reloaded for changed files. It waits for the end of a
// probation, because a reload would end that.
func (s *Supervisor) retryMounts() time.Time {
	due := s.mounts.due()
	if p := s.probation; p != nil && p.before.dir != "" && p.until.After(due) {
		return p.until
	}
	return due
}

// reloadMounts reloads nginx so that it reads the mounted files that have changed.
func (s *Supervisor) reloadMounts(ctx context.Context) {
	versions := s.mounts.versions()
	if !slices.Equal(versions, s.mounts.refused) {
		slog.Info("mounted files have changed", "folders", s.mounts.dirs)
	}
	found := s.reload(ctx)
	// Going back to the previous configuration reads the files too, and may have succeeded.
	if len(found) > 0 && ctx.Err() == nil && !slices.Equal(versions, s.mounts.read) {
		s.mounts.refuse(versions, found, time.Now())
	}
}
