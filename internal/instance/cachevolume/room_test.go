package cachevolume

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestClosed: nginx is kept from storing objects while the volume cannot take them, and a little longer, so that a volume
// at the limit does not change its state with each object.
func TestClosed(t *testing.T) {
	roomy := fileSystem{size: 1000, free: 500, files: 100, freeFiles: 50}
	with := func(change func(*fileSystem)) fileSystem {
		fs := roomy
		change(&fs)
		return fs
	}
	v := watched(t.TempDir(), func() time.Time { return now })
	for _, step := range []struct {
		name    string
		fs      fileSystem
		err     error
		problem string
	}{
		{"roomy", roomy, nil, ""},
		{"almost full", with(func(fs *fileSystem) { fs.free = 21 }), nil, ""},
		{"full", with(func(fs *fileSystem) { fs.free = 19 }), nil, "it is full"},
		{"at the limit", with(func(fs *fileSystem) { fs.free = 21 }), nil, "it is full"},
		{"some room", with(func(fs *fileSystem) { fs.free = 41 }), nil, ""},
		{"too many files", with(func(fs *fileSystem) { fs.freeFiles = 1 }), nil, "it is full"},
		{"without a limit of files", with(func(fs *fileSystem) { fs.files, fs.freeFiles = 0, 0 }), nil, ""},
		{"read-only", with(func(fs *fileSystem) { fs.readOnly = true }), nil, "it is read-only"},
		{"lost", roomy, errors.New("stale file handle"), "it cannot be read: stale file handle"},
		{"large", fileSystem{size: 1 << 40, free: 600 << 20}, nil, ""},
		{"roomy again", roomy, nil, ""},
	} {
		v.statfs = func(string) (fileSystem, error) { return step.fs, step.err }
		v.measure()
		v.check()
		if v.problem != step.problem || exists(v.closed) != (step.problem != "") {
			t.Errorf("%s: %q, and the file exists: %t", step.name, v.problem, exists(v.closed))
		}
	}
}

// TestClosedAtStart: the file may be there from before, and nobody else removes it.
func TestClosedAtStart(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	closed := filepath.Join(state, "closed")
	if err := os.WriteFile(closed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := New(dir, closed, time.Now).Start(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(closed) {
		t.Error("nothing is stored on a good volume")
	}
}

// TestSince: a volume has been filled since an instance found it without objects.
func TestSince(t *testing.T) {
	dir, clock := t.TempDir(), now
	start := func(wait time.Duration) *Volume {
		clock = clock.Add(wait)
		v := watched(dir, func() time.Time { return clock })
		v.begin()
		v.measure()
		return v
	}
	first := start(0).Report().Since
	if first == nil || !first.Equal(now) {
		t.Fatalf("an empty volume is filled since %v", first)
	}
	store(t, dir, 1, 0)
	if again := start(time.Hour).Report().Since; again == nil || !again.Equal(now) {
		t.Errorf("after a restart, it is since %v", again)
	}
	if err := os.WriteFile(filepath.Join(dir, fileSince), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if unknown := start(time.Hour).Report().Since; unknown != nil {
		t.Errorf("with garbage, it is since %v", unknown)
	}
	if err := os.RemoveAll(filepath.Join(dir, instanceapi.DirObjects)); err != nil {
		t.Fatal(err)
	}
	if lost := start(time.Hour).Report().Since; lost == nil || !lost.Equal(now.Add(3*time.Hour)) {
		t.Errorf("without its objects, it is since %v", lost)
	}
}
