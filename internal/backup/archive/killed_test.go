package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
)

// victim is the environment variable that turns this test into the process to be killed.
const victim = "KILLED_WHILE_EXTRACTING"

// victimSettings holds the settings of that process.
type victimSettings struct {
	Archive, Commit, Volume string
	// At is the number of bytes that it reads before it is killed.
	At int
}

// TestKilledWhileExtracting: a process that extracts can be killed at any point, as the kernel does
// when memory runs out. It leaves only whole files and temporary ones. The next run completes the
// restore, with the same result as an uninterrupted one.
func TestKilledWhileExtracting(t *testing.T) {
	if settings := os.Getenv(victim); settings != "" {
		die(t, settings)
		return
	}
	source := volume(t, map[string]string{
		"a/b/one": noise(100_000), "a/b/two": noise(150_000), "a/link": "->b/one", "a/three": "three", "c/d/e/four": noise(120_000), "c/empty": "", "five": noise(80_000),
	})
	must.Succeed(t, source.Chmod("a/b", 0o750))
	must.Succeed(t, source.Chmod("c", 0o711))
	text, commit := write(t, map[int]*os.Root{0: source})
	want := list(t, source.Name())
	killed, halfway := 0, 0
	for at := 0; at < len(text); at += len(text) / 40 {
		dir := t.TempDir()
		kill(t, text, commit, dir, at)
		killed++
		left := list(t, dir)
		if len(left) > 1 && len(left) < len(want) {
			halfway++
		}
		for name, content := range left {
			if filepath.Base(name) != ".nginx-operator-restore" && want[name] != content {
				t.Errorf("killed after %d bytes, %s has %d bytes, want %d", at, name, len(content), len(want[name]))
			}
		}
		_, err := extract(t, text, commit, dir, archive.Refuse)
		must.Succeed(t, err)
		if diff := cmp.Diff(want, list(t, dir)); diff != "" {
			t.Errorf("killed after %d bytes and completed, -want +got:\n%s", at, diff)
		}
		if diff := cmp.Diff(modes(t, source.Name()), modes(t, dir)); diff != "" {
			t.Errorf("killed after %d bytes and completed, the modes are, -want +got:\n%s", at, diff)
		}
	}
	t.Logf("a process that extracts was killed %d times, %d of them halfway", killed, halfway)
	if halfway < 20 {
		t.Error("it was hardly ever killed halfway")
	}
}

// modes returns the modes of all files and directories except the root.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	found := map[string]fs.FileMode{}
	must.Succeed(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Type() != fs.ModeSymlink {
			relative, _ := filepath.Rel(dir, name)
			found[relative] = info.Mode()
		}
		return err
	}))
	return found
}

// kill runs another process that extracts, and that is killed.
func kill(t *testing.T, text []byte, commit archive.Commit, dir string, at int) {
	t.Helper()
	d := victimSettings{Archive: filepath.Join(t.TempDir(), "archive"), Commit: filepath.Join(t.TempDir(), "commit"), Volume: dir, At: at}
	must.Succeed(t, os.WriteFile(d.Archive, text, 0o600))
	record, err := commit.Encode()
	must.Succeed(t, err)
	must.Succeed(t, os.WriteFile(d.Commit, record, 0o600))
	settings, err := json.Marshal(d)
	must.Succeed(t, err)
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileExtracting$")
	command.Env = append(os.Environ(), victim+"="+string(settings))
	out, err := command.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err == nil || !ok {
		t.Fatalf("it lives: %v\n%s", err, out)
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it ended by itself: %v\n%s", err, out)
	}
}

// die extracts, and is killed after it has read some bytes of the archive for the second time.
// During the first pass nothing is written.
func die(t *testing.T, settings string) {
	t.Helper()
	var d victimSettings
	must.Succeed(t, json.Unmarshal([]byte(settings), &d))
	text, err := os.ReadFile(d.Archive)
	must.Succeed(t, err)
	record, err := os.ReadFile(d.Commit)
	must.Succeed(t, err)
	commit, err := archive.ParseCommit(record)
	must.Succeed(t, err)
	opened := 0
	source := func(context.Context) (io.ReadCloser, error) {
		opened++
		if opened == 1 {
			return io.NopCloser(bytes.NewReader(text)), nil
		}
		return io.NopCloser(&deadly{text: text, left: d.At}), nil
	}
	roots := map[int]*os.Root{0: open(t, d.Volume)}
	_, err = archive.ExtractContent(t.Context(), source, commit, archive.DefaultLimits(), roots, archive.Refuse)
	t.Fatalf("killed after %d bytes, it goes on: %v", d.At, err)
}

// deadly is a reader that returns a few bytes at a time, and kills the process after a number of
// bytes.
type deadly struct {
	text []byte
	left int
}

// Read implements io.Reader.
func (d *deadly) Read(p []byte) (int, error) {
	if d.left == 0 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			return 0, err
		}
		select {}
	}
	n := copy(p[:min(len(p), d.left, 100)], d.text)
	d.text, d.left = d.text[n:], d.left-n
	return n, nil
}
