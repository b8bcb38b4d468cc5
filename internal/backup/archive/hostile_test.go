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

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/internal/must"
	"example.com/nginx-operator/test/hostilearchive"
)

// TestHostile: every archive of the corpus is refused for the expected reason, and nothing of it is
// written.
func TestHostile(t *testing.T) {
	cases := hostilearchive.Corpus(hostilearchive.Namespace)
	if len(cases) < 150 {
		t.Errorf("the corpus has only %d cases", len(cases))
	}
	names := map[string]bool{}
	for _, c := range cases {
		if names[c.Name] {
			t.Errorf("two cases are called %q", c.Name)
		}
		names[c.Name] = true
		t.Run(c.Name, func(t *testing.T) {
			text, commit := c.Build()
			_, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, c.Limits)
			refused(t, err, c.Want)
			_, files, err := archive.ReadDocuments(t.Context(), bytes.NewReader(text), commit, c.Limits)
			refused(t, err, c.Want)
			if files != nil {
				t.Errorf("documents were read: %d", len(files))
			}
			nothingWritten(t, text, commit, c)
		})
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if _, ok := errors.AsType[*archive.RefusedError](err); !ok {
		t.Fatalf("it is not refused: %v", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("it is refused because %q, want %q", err, want)
	}
	if text := err.Error(); len(text) > 1000 || strings.ContainsAny(text, "\n\x1b\x00") {
		t.Errorf("the error repeats what is hostile: %q", text)
	}
}

func nothingWritten(t *testing.T, text []byte, commit archive.Commit, c hostilearchive.Case) {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.MkdirAll(filepath.Join(dir, "volume", "link"), 0o755))
	must.Succeed(t, os.Symlink("..", filepath.Join(dir, "volume", "c")))
	before := list(t, dir)
	root := open(t, filepath.Join(dir, "volume"))
	_, err := archive.ExtractContent(t.Context(), opener(text), commit, c.Limits, map[int]*os.Root{0: root}, archive.Overwrite)
	refused(t, err, c.Want)
	if diff := cmp.Diff(before, list(t, dir)); diff != "" {
		t.Errorf("something was written (-before +after):\n%s", diff)
	}
}

func opener(text []byte) archive.Open {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
}

// list returns the files in a directory, with the content of files and the targets of links.
func list(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must.Succeed(t, filepath.Walk(dir, func(file string, i os.FileInfo, err error) error {
		name, _ := filepath.Rel(dir, file)
		switch {
		case err != nil:
			return err
		case i.Mode().Type() == os.ModeSymlink:
			target, err := os.Readlink(file)
			found[name] = "->" + target
			return err
		case i.Mode().IsRegular():
			text, err := os.ReadFile(file)
			found[name] = string(text)
			return err
		case i.IsDir():
			found[name+"/"] = ""
		}
		return nil
	}))
	return found
}

// TestHonest: the archive from which the corpus is made is accepted.
func TestHonest(t *testing.T) {
	text, commit := hostilearchive.Honest(hostilearchive.Namespace)
	_, err := archive.Verify(t.Context(), bytes.NewReader(text), commit, archive.DefaultLimits())
	must.Succeed(t, err)
}
