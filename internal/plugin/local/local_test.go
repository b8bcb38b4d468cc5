package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// folderOf writes files to a new folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRead: a file takes the place of one of the served files, and a folder or a manifest is the whole configuration.
func TestRead(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"site.conf":     "new",
		"all/a.conf":    "a",
		"all/page.html": "p",
		"app.yaml":      "kind: Service\n---\nkind: NginxOperator\nspec: {config: {files: {x.conf: x}}}\n",
		"map.yml":       "kind: ConfigMap\ndata: {y.conf: why}\n",
	})
	served := map[string]string{"site.conf": "old", "other.conf": "o"}
	for path, want := range map[string]map[string]string{
		"site.conf": {"site.conf": "new", "other.conf": "o"},
		"all":       {"a.conf": "a", "page.html": "p"},
		"app.yaml":  {"x.conf": "x"},
		"map.yml":   {"y.conf": "why"},
	} {
		got, err := Read(filepath.Join(dir, path), nil, served)
		if diff := cmp.Diff(want, got.Files); err != nil || diff != "" {
			t.Errorf("%s: %v; -want +got:\n%s", path, err, diff)
		}
	}
	got, err := Read("-", strings.NewReader("kind: ConfigMap\ndata: {z.conf: z}\n"), served)
	if err != nil || got.Files["z.conf"] != "z" || len(got.Files) != 1 {
		t.Errorf("the standard input: %v, %v", got, err)
	}
	if served["site.conf"] != "old" {
		t.Error("the served files are changed")
	}
}

// TestUnreadable: what is no configuration is refused with what to change.
func TestUnreadable(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"nested/b/c.conf": "c",
		"none.yaml":       "kind: Service\n",
		"bad.yaml":        "kind: [\n",
		"big.conf":        strings.Repeat("#", maxBytes+1),
	})
	for path, want := range map[string]string{
		"nested":    "a configuration is flat",
		"none.yaml": "has no NginxOperator with spec.config.files and no ConfigMap",
		"bad.yaml":  "bad.yaml: ",
		"big.conf":  "which no configuration can be",
		"missing":   "no such file",
	} {
		if _, err := Read(filepath.Join(dir, path), nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
