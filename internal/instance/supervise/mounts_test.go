package supervise

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// switchTo switches a folder to a version in the same way as the kubelet.
func switchTo(t *testing.T, dir, version string) {
	t.Helper()
	next := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(version, next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
}

// mountsOf returns two folders that nginx has read.
func mountsOf(t *testing.T) *mounts {
	t.Helper()
	m := &mounts{dirs: []string{t.TempDir(), t.TempDir()}}
	switchTo(t, m.dirs[0], "..1")
	switchTo(t, m.dirs[1], "..1")
	if m.refresh() {
		t.Error("the first inspection finds a change")
	}
	m.served(m.versions())
	return m
}

var (
	someTime = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	refusal  = []instanceapi.Problem{{File: "/etc/extra/a.conf", Line: 1, Message: "no"}}
)

func TestMounts(t *testing.T) {
	m := mountsOf(t)
	if m.refresh() || m.changed() {
		t.Error("what nginx has read counts as changed")
	}
	switchTo(t, m.dirs[1], "..2")
	if !m.refresh() || !m.changed() || m.due().After(someTime) {
		t.Errorf("a change is not due at once: %+v", m)
	}
	m.refuse(m.versions(), refusal, someTime)
	if m.refresh() || len(m.report()) != 1 {
		t.Errorf("after a refusal: %+v", m)
	}
	m.served(m.versions())
	if m.changed() || m.report() != nil || m.due().After(someTime) {
		t.Errorf("after they were taken: %+v", m)
	}
}

// TestRefusedMounts: refused files are tried again with growing delays, and other files at once.
func TestRefusedMounts(t *testing.T) {
	m := mountsOf(t)
	switchTo(t, m.dirs[1], "..2")
	m.refresh()
	for attempt, want := range []time.Duration{firstRetry, 2 * firstRetry, 4 * firstRetry, lastRetry, lastRetry} {
		m.refuse(m.versions(), refusal, someTime)
		if got := m.due().Sub(someTime); got != want {
			t.Errorf("after refusal %d it is tried again after %s, want %s", attempt+1, got, want)
		}
	}
	switchTo(t, m.dirs[1], "..3")
	if !m.refresh() || m.due().After(someTime) {
		t.Error("other files than those that were refused have to wait")
	}
	m.refuse(m.versions(), refusal, someTime)
	if got := m.due().Sub(someTime); got != firstRetry {
		t.Errorf("the first refusal of other files is tried again after %s", got)
	}
}

// TestNoMounts: an instance without --reload-on never reloads for mounted files.
func TestNoMounts(t *testing.T) {
	var m mounts
	m.refresh()
	if m.refresh() || m.changed() || m.report() != nil {
		t.Errorf("%+v", m)
	}
	m.served(m.versions())
	if m.changed() {
		t.Error("it is reloaded after a start")
	}
}

// TestChangedFilesWaitForProbation: changed files wait for the end of a probation, because a reload
// would end it.
func TestChangedFilesWaitForProbation(t *testing.T) {
	until := time.Date(2026, 11, 21, 0, 0, 5, 0, time.UTC)
	s := &Supervisor{probation: &probation{until: until}}
	if got := s.retryMounts(); !got.IsZero() {
		t.Errorf("after a start it waits until %s", got)
	}
	s.probation.before.dir = "/before"
	if got := s.retryMounts(); !got.Equal(until) {
		t.Errorf("on probation it waits until %s", got)
	}
}
