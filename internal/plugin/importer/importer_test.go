package importer

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/nginx-operator/test/golden"
)

// same keeps a text as it is: golden files have the control characters of their input, if there are any.
func same(text string) string { return text }

// compareGolden compares the manifests and the review with golden files.
func compareGolden(t *testing.T, name string, r *Result) {
	t.Helper()
	var manifests, review bytes.Buffer
	if err := r.Write(&manifests, "yaml"); err != nil {
		t.Fatal(err)
	}
	if err := r.Review.Write(&review, true, same); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join("testdata", "golden", name+".yaml"), manifests.String())
	golden.Compare(t, filepath.Join("testdata", "golden", name+".review"), review.String())
}

// importFolder imports a folder as the command does.
func importFolder(t *testing.T, folder fs.FS, o Options) *Result {
	t.Helper()
	main, err := FindMain(folder)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Config(Folder{Config: folder}, main, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := result.ReviewFiles(folder); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestConfigGolden(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join("testdata", "conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range folders {
		t.Run(entry.Name(), func(t *testing.T) {
			folder := os.DirFS(filepath.Join("testdata", "conf", entry.Name()))
			compareGolden(t, "conf-"+entry.Name(), importFolder(t, folder, Options{Name: entry.Name()}))
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		files Map
		want  string
	}{
		"no file":       {Map{}, "/etc/nginx/nginx.conf: file does not exist"},
		"empty":         {Map{"/etc/nginx/nginx.conf": "# nothing"}, "nginx.conf has no directives"},
		"not ended":     {Map{"/etc/nginx/nginx.conf": "http {\n"}, `nginx.conf:1: the block of "http" does not end`},
		"bad include":   {Map{"/etc/nginx/nginx.conf": "http { include a; }", "/etc/nginx/a": "b"}, `a:1: "b" is not ended by ";"`},
		"a snippet":     {Map{"/etc/nginx/nginx.conf": "location / {}"}, `"location" belongs into a server block`},
		"a private key": {Map{"/etc/nginx/nginx.conf": "# -----BEGIN PRIVATE KEY-----"}, "contains a private key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Config(tt.files, []string{"/etc/nginx/nginx.conf"}, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Config() error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}
