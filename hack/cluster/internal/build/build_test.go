package build

import (
	"cmp"
	"errors"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/nginx-operator/hack/cluster/internal/state"
)

// testBuilder returns a builder with one component, "tiny", whose main.go is source.
func testBuilder(t *testing.T, source string) (Builder, Component) {
	t.Helper()
	dir := t.TempDir()
	component := filepath.Join(dir, "components", "tiny")
	if err := os.MkdirAll(component, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"go.mod": "module tiny\n\ngo 1.26\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(component, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	builder := Builder{Cache: state.Cache(t.TempDir()), Source: dir, Progress: log.New(io.Discard, "", 0)}
	return builder, Component{Name: "tiny", Version: "v1", Target: ".", Links: []string{"alias"}}
}

func TestBuildOnce(t *testing.T) {
	builder, component := testBuilder(t, "package main\n\nfunc main() {}\n")
	programs, err := builder.All(t.Context(), component)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(programs["tiny"], "alias"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := builder.All(t.Context(), component); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(filepath.Join(programs["tiny"], "alias"))
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("the second build did not use the first one's programs")
	}
}

func TestFolderFollowsSourceAndFlags(t *testing.T) {
	builder, component := testBuilder(t, "package main\n\nfunc main() {}\n")
	seen := map[string]string{}
	check := func(change string) {
		t.Helper()
		dir, err := builder.folder(t.Context(), component)
		if err != nil {
			t.Fatal(err)
		}
		if previous, ok := seen[dir]; ok {
			t.Errorf("%s: same folder as %s", change, previous)
		}
		seen[dir] = change
	}
	check("original")
	component.Variables = map[string]string{"main.version": "v2"}
	check("linker variable")
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(builder.Source, "components", "tiny", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", "package main\n\nfunc main() { println() }\n")
	check("source")
	write("inner/inner.go", "package inner\n")
	check("source of a package")

	before, err := builder.folder(t.Context(), component)
	if err != nil {
		t.Fatal(err)
	}
	write("inner/inner_test.go", "package inner\n")
	if after, err := builder.folder(t.Context(), component); err != nil || after != before {
		t.Errorf("a test changes the folder from %s to %s (%v)", before, after, err)
	}
}

func TestFailedBuildShowsReasonAndLeavesNothing(t *testing.T) {
	builder, component := testBuilder(t, "package main\n\nfunc main() { undefinedName() }\n")
	_, err := builder.All(t.Context(), component)
	if err == nil {
		t.Fatal("building a broken program succeeded")
	}
	for _, want := range []string{"undefined: undefinedName", filepath.Join(builder.Cache.BuildLogs(), "tiny.log")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q: %v", want, err)
		}
	}
	left, err := os.ReadDir(builder.Cache.Programs())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestOtherVersionsDoNotMatter: a component with a go.mod for each version is not built again when that of another version
// changes.
func TestOtherVersionsDoNotMatter(t *testing.T) {
	builder, component := testBuilder(t, "package main\n\nfunc main() {}\n")
	component.ModFile = "1.30.mod"
	folders := map[string]string{}
	for _, file := range []string{"1.30.mod", "1.30.sum", "1.31.mod", "1.31.sum", "go.mod", "version.sh"} {
		path := filepath.Join(builder.Source, "components", "tiny", file)
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		dir, err := builder.folder(t.Context(), component)
		if err != nil {
			t.Fatal(err)
		}
		folders[file] = dir
	}
	if folders["1.30.mod"] == folders["1.30.sum"] {
		t.Error("its own go.sum makes no difference")
	}
	for _, file := range []string{"1.31.mod", "1.31.sum", "go.mod", "version.sh"} {
		if folders[file] != folders["1.30.sum"] {
			t.Errorf("%s makes a difference", file)
		}
	}
}

// TestVersionsMatchGoMod: the versions that are shown and linked in equal those that are built.
func TestVersionsMatchGoMod(t *testing.T) {
	modules := map[string]string{
		Kubernetes:  "k8s.io/kubernetes",
		APIServer:   "k8s.io/kubernetes",
		Kubelet:     "k8s.io/kubernetes",
		Containerd:  "github.com/containerd/containerd/v2",
		CoreDNS:     "github.com/coredns/coredns",
		Registry:    "github.com/distribution/distribution/v3",
		Traefik:     "github.com/traefik/traefik/v3",
		CertManager: "github.com/cert-manager/cert-manager",
	}
	components := append(Components(), RegistryComponent(), TraefikComponent(), CertManagerComponent())
	for _, version := range APIServerVersions() {
		component, err := APIServerComponent(version)
		if err != nil {
			t.Fatal(err)
		}
		components = append(components, component)
	}
	for _, version := range KubeletVersions() {
		component, err := KubeletComponent(version)
		if err != nil {
			t.Fatal(err)
		}
		components = append(components, component)
	}
	for _, component := range components {
		module, ok := modules[component.Name]
		if !ok {
			continue
		}
		gomod, err := os.ReadFile(filepath.Join("..", "..", "components", component.Name, cmp.Or(component.ModFile, "go.mod")))
		if err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile(`(?m)^(require|\t)\s*` + regexp.QuoteMeta(module+" "+component.Version) + `( |$)`)
		if !want.Match(gomod) {
			t.Errorf("components/%s/%s does not require %s %s", component.Name, cmp.Or(component.ModFile, "go.mod"), module, component.Version)
		}
	}
}

// TestKubeletComponent: the nodes have the programs of the cluster unless another version is asked for.
func TestKubeletComponent(t *testing.T) {
	tests := map[string]struct{ name, modFile, want string }{
		ClusterVersion(): {name: Kubernetes},
		"1.30":           {name: Kubelet, modFile: "1.30.mod"},
		"1.34":           {name: Kubelet, modFile: "1.34.mod"},
		"1.29":           {want: "use one of 1.30, 1.34, 1.37"},
		"":               {want: "there is no kubelet"},
	}
	for version, test := range tests {
		t.Run(version, func(t *testing.T) {
			component, err := KubeletComponent(version)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want one about %q", err, test.want)
				}
				return
			}
			if err != nil || component.Name != test.name || component.ModFile != test.modFile || minor(component.Version) != version {
				t.Errorf("component %s %s of %s (%v)", component.Name, component.Version, component.ModFile, err)
			}
		})
	}
}
