package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"example.com/nginx-operator/hack/release/internal/project"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// built returns a small program.
var built = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "program-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "program")
	if output, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, "./testdata/program").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, output)
	}
	return os.ReadFile(path)
})

// made builds everything except the programs, each of which is replaced by a small one.
func made(t *testing.T) *Archive {
	t.Helper()
	p, err := project.Open("../../../..")
	must(t, err)
	a := &Archive{Project: p, Revision: "0123abc", Date: time.Unix(1700000000, 0).UTC(), Programs: t.TempDir(), files: map[string][]byte{}}
	program, err := built()
	must(t, err)
	write := func(platform, name string) {
		path := a.program(platform, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, program, 0o700))
	}
	for _, platform := range p.Release.Platforms {
		for _, name := range programs {
			write(platform, name)
		}
	}
	for _, platform := range p.Release.PluginPlatforms {
		write(platform, plugin)
	}
	for _, step := range []func(context.Context) error{a.manifests, a.chart, a.images, a.plugins, a.bills} {
		must(t, step(t.Context()))
	}
	return a
}

// TestSameBytes: two builds give the same bytes.
func TestSameBytes(t *testing.T) {
	if diff := cmp.Diff(string(made(t).sums()), string(made(t).sums())); diff != "" {
		t.Errorf("a second build (+) differs:\n%s", diff)
	}
}

// TestManifests: the manifests contain the image's placeholder and the version.
func TestManifests(t *testing.T) {
	a := made(t)
	for _, install := range installs {
		name, text := install.file, string(a.files[install.file])
		if !strings.Contains(text, "app.kubernetes.io/version: "+a.Version) {
			t.Errorf("%s does not print its version", name)
		}
		if !slices.Contains([]string{"install-namespaced-crd.yaml", "alerts.yaml", "refuse-unconverted.yaml", "restricted.yaml"}, name) && !strings.Contains(text, "image: example.com/nginx-operator:"+a.Version+"\n") {
			t.Errorf("%s does not have the image %s", name, a.Image())
		}
		// Kubernetes uses this prefix for AppArmor profiles of a node, and the schema has a rule on
		// it.
		text = strings.NewReplacer("startsWith('localhost/')", "", "startsWith(''localhost/'')", "", "localhost/<profile>", "").Replace(text)
		if strings.Contains(text, "localhost") {
			t.Errorf("%s names this machine", name)
		}
	}
}

func TestChart(t *testing.T) {
	a := made(t)
	chart, err := loader.LoadArchive(bytes.NewReader(a.files[a.named(".tgz")]))
	must(t, err)
	if chart.Metadata.Version != a.Version || chart.Metadata.AppVersion != a.Version {
		t.Errorf("the chart is of version %s, for %s", chart.Metadata.Version, chart.Metadata.AppVersion)
	}
	if len(chart.Schema) == 0 || len(chart.Templates) < 5 {
		t.Errorf("the chart has %d templates and a schema of %d bytes", len(chart.Templates), len(chart.Schema))
	}
}

// TestImages: a container engine can read the archives.
func TestImages(t *testing.T) {
	a := made(t)
	for file, platforms := range map[string][]string{
		a.named(".oci.tar"): a.Release.Platforms, "nginx-operator-bundle-" + a.Version + ".oci.tar": {"linux/amd64"},
	} {
		t.Run(file, func(t *testing.T) {
			outer, err := layout.ImageIndexFromPath(unpacked(t, a.files[file]))
			must(t, err)
			manifest, err := outer.IndexManifest()
			must(t, err)
			if len(manifest.Manifests) != 1 {
				t.Fatalf("the archive has %d images", len(manifest.Manifests))
			}
			var found []string
			for _, image := range imagesOf(t, outer, manifest.Manifests[0]) {
				found = append(found, checkImage(t, a, image))
			}
			if diff := cmp.Diff(platforms, found); diff != "" {
				t.Errorf("want the platforms (-), got (+):\n%s", diff)
			}
		})
	}
}

// imagesOf returns the images of an index, or the single image that the descriptor is about.
func imagesOf(t *testing.T, outer v1.ImageIndex, descriptor v1.Descriptor) []v1.Image {
	t.Helper()
	if !descriptor.MediaType.IsIndex() {
		image, err := outer.Image(descriptor.Digest)
		must(t, err)
		must(t, validate.Image(image))
		return []v1.Image{image}
	}
	index, err := outer.ImageIndex(descriptor.Digest)
	must(t, err)
	must(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	must(t, err)
	var images []v1.Image
	for _, inner := range manifest.Manifests {
		image, err := index.Image(inner.Digest)
		must(t, err)
		images = append(images, image)
	}
	return images
}

// checkImage checks the public metadata of an image, and returns its platform.
func checkImage(t *testing.T, a *Archive, image v1.Image) string {
	t.Helper()
	config, err := image.ConfigFile()
	must(t, err)
	for label, want := range map[string]string{
		"org.opencontainers.image.version": a.Version, "org.opencontainers.image.revision": a.Revision,
		"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
	} {
		if got := config.Config.Labels[label]; got != want {
			t.Errorf("the label %s is %q, want %q", label, got, want)
		}
	}
	if !config.Created.Equal(a.Date) {
		t.Errorf("it was created on %s", config.Created)
	}
	return config.OS + "/" + config.Architecture
}

func unpacked(t *testing.T, packed []byte) string {
	t.Helper()
	dir := t.TempDir()
	reader := tar.NewReader(bytes.NewReader(packed))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		must(t, err)
		path := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		content, err := io.ReadAll(reader)
		must(t, err)
		must(t, os.WriteFile(path, content, 0o600))
	}
}

// TestBillOfMaterials: the bill of materials contains the modules that the linker recorded in the program, and
// all references resolve.
func TestBillOfMaterials(t *testing.T) {
	a := made(t)
	program, err := built()
	must(t, err)
	info, err := buildinfo.Read(bytes.NewReader(program))
	must(t, err)
	if len(info.Deps) == 0 {
		t.Fatal("the program is linked from nothing")
	}
	var bills []string
	for _, platform := range a.Release.Platforms {
		bills = append(bills, a.billFile(project.Name, platform))
	}
	for _, platform := range a.Release.PluginPlatforms {
		bills = append(bills, a.billFile(plugin, platform))
	}
	for _, file := range bills {
		t.Run(file, func(t *testing.T) { checkBill(t, a.files[file], info) })
	}
}

func checkBill(t *testing.T, text []byte, info *debug.BuildInfo) {
	t.Helper()
	bill := &cyclonedx.BOM{}
	must(t, cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(bill))
	refs, purls := map[string]bool{bill.Metadata.Component.BOMRef: true}, map[string]bool{}
	for _, c := range *bill.Components {
		if refs[c.BOMRef] {
			t.Errorf("%s is there twice", c.BOMRef)
		}
		refs[c.BOMRef], purls[c.PackageURL] = true, true
	}
	for _, d := range *bill.Dependencies {
		for _, ref := range append(*d.Dependencies, d.Ref) {
			if !refs[ref] {
				t.Errorf("%s is referred to and not there", ref)
			}
		}
	}
	for _, module := range append(info.Deps, &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}) {
		if !purls["pkg:golang/"+module.Path+"@"+module.Version] {
			t.Errorf("%s %s is missing", module.Path, module.Version)
		}
	}
	if bill.SpecVersion != cyclonedx.SpecVersion1_6 || !strings.HasPrefix(bill.SerialNumber, "urn:uuid:") {
		t.Errorf("the bill is %s of specification %s", bill.SerialNumber, bill.SpecVersion)
	}
}

// TestWrite: the checksums are right, and no file of an older release remains.
func TestWrite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dist")
	must(t, os.MkdirAll(out, 0o755))
	must(t, os.WriteFile(filepath.Join(out, "old.tgz"), nil, 0o600))
	a := &Archive{Date: time.Unix(1700000000, 0), files: map[string][]byte{"b": []byte("2"), "a": []byte("1")}}
	a.files["SHA256SUMS"] = a.sums()
	must(t, a.write(out))
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	must(t, err)
	const want = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b  a\n" +
		"d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35  b\n"
	if diff := cmp.Diff(want, string(sums)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(out, "old.tgz")); err == nil {
		t.Error("a file of an older release is still there")
	}
}
