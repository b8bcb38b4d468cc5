package archive

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

// krewManifest has the fields of https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ that krew requires.
type krewManifest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Platforms        []krewDownload `json:"platforms"`
	} `json:"spec"`
}

type krewDownload struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string              `json:"uri"`
	Sha256 string              `json:"sha256"`
	Bin    string              `json:"bin"`
	Files  []map[string]string `json:"files"`
}

// TestPlugin: the manifest for krew names each archive with its checksum, and the files in it.
func TestPlugin(t *testing.T) {
	a := made(t)
	var manifest krewManifest
	must(t, yaml.UnmarshalStrict(a.files[krewFile], &manifest))
	if manifest.Metadata["name"]+".yaml" != krewFile || manifest.Spec.Version != "v"+a.Version || manifest.Kind != "Plugin" {
		t.Errorf("the manifest is of the %s %s %s", manifest.Kind, manifest.Metadata["name"], manifest.Spec.Version)
	}
	var platforms []string
	for _, platform := range manifest.Spec.Platforms {
		platforms = append(platforms, platform.Selector.MatchLabels["os"]+"/"+platform.Selector.MatchLabels["arch"])
		checkDownload(t, a, platform)
	}
	if diff := cmp.Diff(a.Release.PluginPlatforms, platforms); diff != "" {
		t.Errorf("want the platforms (-), got (+):\n%s", diff)
	}
}

func checkDownload(t *testing.T, a *Archive, platform krewDownload) {
	t.Helper()
	name := path.Base(platform.URI)
	if sum := fmt.Sprintf("%x", sha256.Sum256(a.files[name])); sum != platform.Sha256 {
		t.Errorf("%s has the checksum %s, not %s", name, sum, platform.Sha256)
	}
	files := contents(t, name, a.files[name])
	for _, file := range platform.Files {
		if len(files[file["from"]]) == 0 {
			t.Errorf("%s has no file %s", name, file["from"])
		}
	}
	if len(files) != len(platform.Files) || !bytes.Contains(files["LICENSE"], []byte("Apache License")) {
		t.Errorf("%s has %d files, or not the license", name, len(files))
	}
	if program, err := built(); err != nil || !bytes.Equal(files[platform.Bin], program) {
		t.Errorf("%s has not the program %s: %v", name, platform.Bin, err)
	}
}

// contents returns the files of an archive.
func contents(t *testing.T, name string, packed []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	if strings.HasSuffix(name, ".zip") {
		reader, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
		must(t, err)
		for _, file := range reader.File {
			if file.Mode().Perm()&0o100 == 0 && strings.HasSuffix(file.Name, ".exe") {
				t.Errorf("%s: %s is not executable", name, file.Name)
			}
			content, err := file.Open()
			must(t, err)
			files[file.Name], err = io.ReadAll(content)
			must(t, err)
		}
		return files
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	must(t, err)
	text, err := io.ReadAll(unzipped)
	must(t, err)
	dir := unpacked(t, text)
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		files[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name()))
		must(t, err)
	}
	return files
}

// TestPluginOfRelease: the plugin has the version of the release, and installs what install.yaml has.
func TestPluginOfRelease(t *testing.T) {
	p, err := project.Open("../../../..")
	must(t, err)
	p.Release.Platforms, p.Release.PluginPlatforms = nil, []string{runtime.GOOS + "/" + runtime.GOARCH}
	a := &Archive{Project: p, Date: time.Unix(1700000000, 0), Programs: t.TempDir(), files: map[string][]byte{}}
	must(t, a.build(t.Context()))
	must(t, a.manifests(t.Context()))
	run := func(arguments ...string) string {
		output, err := exec.Command(a.program(p.Release.PluginPlatforms[0], plugin), arguments...).CombinedOutput()
		if err != nil {
			t.Logf("%v: %s", err, output)
		}
		return string(output)
	}
	if output := run("--version"); !strings.Contains(output, a.Version) {
		t.Errorf("the plugin prints the version %s", output)
	}
	if output := run("install"); !strings.Contains(output, a.Image()+" is the placeholder") {
		t.Errorf("without an image, the plugin says %s", output)
	}
	installed := strings.ReplaceAll(string(a.files["install.yaml"]), a.Image(), "registry.example.com/o:1")
	if diff := cmp.Diff(objects(t, installed), objects(t, run("install", "-o", "yaml", "--image=registry.example.com/o:1"))); diff != "" {
		t.Errorf("install.yaml (-) and the plugin (+) differ:\n%s", diff)
	}
}

// objects returns the objects of a manifest by their kind and name.
func objects(t *testing.T, text string) map[string]project.Object {
	t.Helper()
	all := map[string]project.Object{}
	for document := range strings.SplitSeq(text, "---\n") {
		var object project.Object
		must(t, yaml.Unmarshal([]byte(document), &object))
		if object != nil {
			all[object.ID()] = object
		}
	}
	return all
}
