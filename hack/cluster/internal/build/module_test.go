package build

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// serveModule makes the go command download example.com/module v1.0.0 from a folder.
func serveModule(t *testing.T, files map[string]string) {
	t.Helper()
	proxy, modules := t.TempDir(), t.TempDir()
	t.Setenv("GOPROXY", "file://"+proxy)
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", modules)
	t.Cleanup(func() {
		// The files of modules are read-only: other programs cannot delete them.
		if output, err := exec.Command("go", "clean", "-modcache").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, output)
		}
	})
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	for name, text := range files {
		file, err := archive.Create("example.com/module@v1.0.0/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, filepath.Join(proxy, "example.com", "module", "@v"), map[string]string{
		"v1.0.0.info": `{"Version": "v1.0.0"}`,
		"v1.0.0.mod":  files["go.mod"],
		"v1.0.0.zip":  content.String(),
	})
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestModule: a module whose package "cloud" cannot be compiled is built without that, and its
// manifests are put beside the program.
func TestModule(t *testing.T) {
	serveModule(t, map[string]string{
		"go.mod":            "module example.com/module\n\ngo 1.26\n",
		"module.go":         "package module\n\nimport \"example.com/module/cloud\"\n\nvar Name = cloud.Name\n",
		"cloud/cloud.go":    "package cloud\n\nimport \"example.com/missing\"\n\nvar Name = missing.Name\n",
		"manifests/b.yaml":  "b",
		"manifests/a.yaml":  "a",
		"manifests/LICENSE": "license",
	})
	builder, component := testBuilder(t, "package main\n\nimport \"example.com/module\"\n\nfunc main() { println(module.Name) }\n")
	writeFiles(t, filepath.Join(builder.Source, "components", "tiny"), map[string]string{
		"go.mod":      "module tiny\n\ngo 1.26\n\nrequire example.com/module v1.0.0\n\nreplace example.com/module => ./module\n",
		"cloud/no.go": "package cloud\n\nconst Name = \"no cloud\"\n",
	})
	component.Files = []ModuleFiles{{Module: "example.com/module", Pattern: "manifests/*.yaml"}}
	component.Copies = []ModuleCopy{{
		Module: "example.com/module", Version: "v1.0.0", Dir: "module",
		Without: []string{"cloud"}, With: map[string]string{"cloud/no.go": "cloud/cloud.go"},
	}}
	_, err := builder.All(t.Context(), component)
	if err == nil || !strings.Contains(err.Error(), "has the checksum h1:") {
		t.Fatalf("building with a wrong checksum: %v", err)
	}
	component.Copies[0].Sum = regexp.MustCompile(`h1:[^,]*`).FindString(err.Error())
	programs, err := builder.All(t.Context(), component)
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.Command(filepath.Join(programs["tiny"], "tiny")).CombinedOutput()
	if string(output) != "no cloud\n" {
		t.Errorf("the program printed %q (%v)", output, err)
	}
	found, err := filepath.Glob(filepath.Join(programs["tiny"], FilesDir, "*", "*"))
	if len(found) != 2 {
		t.Errorf("the files are %v (%v), want two", found, err)
	}
	left, err := filepath.Glob(filepath.Join(builder.Cache.Programs(), ".*"))
	if len(left) != 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
