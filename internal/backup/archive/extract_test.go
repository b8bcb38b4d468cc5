package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
)

func extract(t *testing.T, text []byte, commit archive.Commit, dir string, policy archive.Policy) ([]archive.Comparison, error) {
	t.Helper()
	return archive.ExtractContent(t.Context(), opener(text), commit, archive.DefaultLimits(), map[int]*os.Root{0: open(t, dir)}, policy)
}

func TestExtract(t *testing.T) {
	source := volume(t, pages)
	must.Succeed(t, source.Chmod("css/site.css", 0o640))
	must.Succeed(t, source.Chmod("img/a", 0o550))
	must.Succeed(t, source.Chtimes("img/a", noon, noon))
	text, commit := write(t, map[int]*os.Root{0: source})
	dir := t.TempDir()
	t.Cleanup(func() { // otherwise only root could remove the files in them
		must.Succeed(t, source.Chmod("img/a", 0o755))
		must.Succeed(t, os.Chmod(filepath.Join(dir, "img/a"), 0o755))
	})
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "extra"), []byte("mine\n"), 0o600))
	found, err := extract(t, text, commit, dir, archive.Refuse)
	must.Succeed(t, err)
	if diff := cmp.Diff([]archive.Comparison{{Missing: 10}}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := list(t, source.Name())
	want["extra"] = "mine\n"
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	must.Succeed(t, filepath.Walk(source.Name(), func(file string, a os.FileInfo, err error) error {
		must.Succeed(t, err)
		name, _ := filepath.Rel(source.Name(), file)
		b, err := os.Lstat(filepath.Join(dir, name))
		must.Succeed(t, err)
		if name != "." && a.Mode().Type() != os.ModeSymlink && (a.Mode() != b.Mode() || !a.ModTime().Equal(b.ModTime())) {
			t.Errorf("%s is %s of %s, want %s of %s", name, b.Mode(), b.ModTime(), a.Mode(), a.ModTime())
		}
		return nil
	}))
}

// TestExtractAgain: files with the same content are not written again, and an interrupted restore
// is completed.
func TestExtractAgain(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, pages)})
	dir := t.TempDir()
	_, err := extract(t, text, commit, dir, archive.Refuse)
	must.Succeed(t, err)
	want := list(t, dir)
	later := noon.Add(time.Hour)
	must.Succeed(t, os.Chtimes(filepath.Join(dir, "index.html"), later, later))
	must.Succeed(t, os.Remove(filepath.Join(dir, "css/site.css")))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "css/.nginx-operator-restore"), []byte("bod"), 0o600))
	found, err := extract(t, text, commit, dir, archive.Refuse)
	must.Succeed(t, err)
	if diff := cmp.Diff([]archive.Comparison{{Same: 9, Missing: 1}}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	info, err := os.Stat(filepath.Join(dir, "index.html"))
	must.Succeed(t, err)
	if !info.ModTime().Equal(later) {
		t.Errorf("the same file was written again, its time is %s", info.ModTime())
	}
}

// obstacles returns a volume that differs from pages in all possible ways, with links that lead out
// of it.
func obstacles(t *testing.T) (dir, outside string) {
	t.Helper()
	dir, outside = t.TempDir(), t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("<h1>HELLO</h1>\n"), 0o600))
	must.Succeed(t, os.WriteFile(filepath.Join(outside, "site.css"), []byte("body {}\n"), 0o600))
	must.Succeed(t, os.Symlink(outside, filepath.Join(dir, "css")))
	must.Succeed(t, os.Symlink(filepath.Join(outside, "new"), filepath.Join(dir, "empty")))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "img"), []byte("no directory"), 0o600))
	must.Succeed(t, os.Symlink("elsewhere", filepath.Join(dir, "current")))
	must.Succeed(t, os.Symlink("void", filepath.Join(dir, "Index.html")))
	return dir, outside
}

func TestRefuseWritesNothing(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, pages)})
	dir, outside := obstacles(t)
	before, beforeOutside := list(t, dir), list(t, outside)
	_, err := extract(t, text, commit, dir, archive.Refuse)
	conflict, ok := errors.AsType[*archive.ConflictError](err)
	if !ok {
		t.Fatalf("want a conflict, got %v", err)
	}
	want := []archive.Comparison{{Missing: 6, Differs: 6, DifferExamples: []string{
		"content/0/Index.html", "content/0/css", "content/0/current", "content/0/empty", "content/0/img", "content/0/index.html"}}}
	if diff := cmp.Diff(want, conflict.Found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(err.Error(), `"content/0/index.html"`) || !strings.Contains(err.Error(), "Overwrite") {
		t.Errorf("the error does not help: %v", err)
	}
	if diff := cmp.Diff(before, list(t, dir)) + cmp.Diff(beforeOutside, list(t, outside)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

func TestOverwriteStaysInTheVolume(t *testing.T) {
	source := volume(t, pages)
	text, commit := write(t, map[int]*os.Root{0: source})
	dir, outside := obstacles(t)
	before := list(t, outside)
	_, err := extract(t, text, commit, dir, archive.Overwrite)
	must.Succeed(t, err)
	if diff := cmp.Diff(list(t, source.Name()), list(t, dir)) + cmp.Diff(before, list(t, outside)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDirectoriesAreNeverDeleted(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, pages)})
	dir := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "index.html", "mine"), 0o755))
	before := list(t, dir)
	_, err := extract(t, text, commit, dir, archive.Overwrite)
	if err == nil || !strings.Contains(err.Error(), `1 files have a directory in their place, such as "content/0/index.html"`) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, list(t, dir)); diff != "" {
		t.Errorf("something was written:\n%s", diff)
	}
}

func TestOnlyGivenVolumesAreRestored(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, map[string]string{"a": "0"}), 3: volume(t, map[string]string{"a": "3"})})
	dir := t.TempDir()
	roots := map[int]*os.Root{3: open(t, dir)}
	_, err := archive.ExtractContent(t.Context(), opener(text), commit, archive.DefaultLimits(), roots, archive.Refuse)
	must.Succeed(t, err)
	if diff := cmp.Diff(map[string]string{"./": "", "a": "3"}, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = archive.CompareContent(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits(), map[int]*os.Root{1: roots[3]})
	if err == nil || err.Error() != "the backup has no content 1" {
		t.Errorf("got %v", err)
	}
}

// TestReplacedArchive: if the archive is replaced after it was verified, no byte of the other one
// is written to the volume.
func TestReplacedArchive(t *testing.T) {
	good, commit := write(t, map[int]*os.Root{0: volume(t, map[string]string{"a": "good", "b": "good"})})
	bad, _ := write(t, map[int]*os.Root{0: volume(t, map[string]string{"a": "good", "b": "evil"})})
	texts := [][]byte{good, append(bad, make([]byte, 1000)...)[:len(good)]}
	dir := t.TempDir()
	_, err := archive.ExtractContent(t.Context(), func(context.Context) (io.ReadCloser, error) {
		text := texts[0]
		texts = texts[1:]
		return io.NopCloser(bytes.NewReader(text)), nil
	}, commit, archive.DefaultLimits(), map[int]*os.Root{0: open(t, dir)}, archive.Overwrite)
	refused(t, err, "the archive was replaced")
	if diff := cmp.Diff(map[string]string{"./": "", "a": "good"}, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStreamErrorsAreNotRefusals: an error of the connection does not refuse the archive.
func TestStreamErrorsAreNotRefusals(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, pages)})
	broken := errors.New("connection reset")
	for _, size := range []int{0, 5, 100, len(text) / 2, len(text) - 1, len(text)} {
		_, err := archive.Verify(t.Context(), io.MultiReader(bytes.NewReader(text[:size]), failing{broken}), commit, archive.DefaultLimits())
		if _, refusal := errors.AsType[*archive.RefusedError](err); refusal || !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", size, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := archive.Verify(ctx, bytes.NewReader(text), commit, archive.DefaultLimits()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestVolumeErrorsAreNotRefusals: an error of the volume does not refuse the archive.
func TestVolumeErrorsAreNotRefusals(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, pages)})
	dir := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "css/.nginx-operator-restore/x"), 0o755))
	_, err := extract(t, text, commit, dir, archive.Refuse)
	if _, refusal := errors.AsType[*archive.RefusedError](err); err == nil || refusal || !strings.Contains(err.Error(), `restore "content/0/css/site.css"`) {
		t.Errorf("got %v", err)
	}
}

// TestGroupIsHandedDown: new directories keep the setgid bit, which passes the group of the volume
// on to new files.
func TestGroupIsHandedDown(t *testing.T) {
	text, commit := write(t, map[int]*os.Root{0: volume(t, pages)})
	dir := t.TempDir()
	must.Succeed(t, os.Chmod(dir, 0o775|os.ModeSetgid))
	_, err := extract(t, text, commit, dir, archive.Refuse)
	must.Succeed(t, err)
	made, err := os.Stat(filepath.Join(dir, "css"))
	must.Succeed(t, err)
	if want := os.ModeDir | os.ModeSetgid | 0o755; made.Mode() != want {
		t.Errorf("the mode is %s, want %s", made.Mode(), want)
	}
}
