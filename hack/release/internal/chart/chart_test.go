package chart

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

var update = flag.Bool("update", false, "write the golden files")

const kubeVersion = "v1.37.1"

// generatedChart generates the chart into a folder, so that the tests are about this checkout.
func generatedChart(t *testing.T) (*project.Project, string) {
	t.Helper()
	p, err := project.Open("../../../..")
	must(t, err)
	files, err := Files(p)
	must(t, err)
	dir := filepath.Join(t.TempDir(), project.Name)
	must(t, Write(dir, files))
	return p, dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// render renders the chart like `helm template`.
func render(t *testing.T, dir, namespace string, values map[string]any) ([]project.Object, error) {
	t.Helper()
	chart, err := loader.Load(dir)
	must(t, err)
	version, err := common.ParseKubeVersion(kubeVersion)
	must(t, err)
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy, install.ReleaseName, install.Namespace, install.KubeVersion = action.DryRunClient, "release", namespace, version
	release, err := install.Run(chart, values)
	if err != nil {
		return nil, err
	}
	return parse(t, release.(*releasev1.Release).Manifest), nil
}

func parse(t *testing.T, text string) []project.Object {
	t.Helper()
	var objects []project.Object
	decoder := utilyaml.NewYAMLToJSONDecoder(strings.NewReader(text))
	for {
		var object project.Object
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		must(t, err)
		if len(object) > 0 {
			objects = append(objects, object)
		}
	}
}

func readValues(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	values := map[string]any{}
	must(t, yaml.UnmarshalStrict(text, &values))
	return values
}

// byID returns the objects by ID, without the labels that only the chart adds.
func byID(objects []project.Object) map[string]project.Object {
	all := map[string]project.Object{}
	for _, object := range objects {
		for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "app.kubernetes.io/name"} {
			if labels, err := object.Get("metadata.labels"); err == nil {
				delete(labels.(map[string]any), label)
				if len(labels.(map[string]any)) == 0 {
					object.Delete("metadata.labels")
				}
			}
		}
		if annotations, err := object.Get("metadata.annotations"); err == nil {
			delete(annotations.(map[string]any), "helm.sh/resource-policy")
		}
		all[object.ID()] = object
	}
	return all
}

// TestSameAsKustomize: both kinds of install equal those of config/.
func TestSameAsKustomize(t *testing.T) {
	tests := []struct {
		name           string
		kustomizations []string
		namespace      string
		values         map[string]any
	}{
		{"for all namespaces", []string{"config/default"}, project.Namespace, nil},
		{"for one namespace", []string{"config/namespaced", "config/namespaced/crd"}, project.Namespace,
			map[string]any{"watchNamespaces": []any{project.Namespace}}},
		{"with the console", []string{"config/default", "config/console"}, project.Namespace,
			map[string]any{"console": map[string]any{"enabled": true}}},
	}
	p, dir := generatedChart(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := render(t, dir, tt.namespace, tt.values)
			must(t, err)
			var want []project.Object
			for _, kustomization := range tt.kustomizations {
				objects, err := p.RenderKustomization(kustomization)
				must(t, err)
				want = append(want, objects...)
			}
			expected := byID(want)
			delete(expected, "Namespace/"+project.Namespace)
			if d, ok := expected["Deployment/nginx-operator"]; ok && tt.values["watchNamespaces"] != nil {
				// In config/namespaced, the pod sets the name of the namespace.
				args, err := d.Get(container + "args")
				must(t, err)
				for i, arg := range args.([]any) {
					args.([]any)[i] = strings.Replace(arg.(string), "$(POD_NAMESPACE)", tt.namespace, 1)
				}
			}
			if diff := cmp.Diff(expected, byID(got)); diff != "" {
				t.Errorf("kustomize's manifests (-) and the chart's (+) differ:\n%s", diff)
			}
		})
	}
}

// TestGolden: the values in testdata give the expected manifests. The CRDs are left out, since
// TestSameAsKustomize compares them.
func TestGolden(t *testing.T) {
	_, dir := generatedChart(t)
	files, err := filepath.Glob("testdata/*.values.yaml")
	must(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			objects, err := render(t, dir, "operators", readValues(t, file))
			must(t, err)
			var text bytes.Buffer
			for _, object := range objects {
				if object.Kind() == "CustomResourceDefinition" {
					continue
				}
				object.Delete("rules")
				// The golden files stay as they are from version to version.
				must(t, object.AddLabels(map[string]any{"helm.sh/chart": "CHART", "app.kubernetes.io/version": "VERSION"}))
				encoded, err := yaml.Marshal(object)
				must(t, err)
				text.WriteString("---\n" + string(encoded))
			}
			golden := strings.TrimSuffix(file, ".values.yaml") + ".golden.yaml"
			if *update {
				must(t, os.WriteFile(golden, text.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Errorf("%s (-) and what is rendered (+) differ, go test -update accepts it:\n%s", golden, diff)
			}
		})
	}
}

// TestLint: Helm's linter reports no message for any of the values.
func TestLint(t *testing.T) {
	_, dir := generatedChart(t)
	version, err := common.ParseKubeVersion(kubeVersion)
	must(t, err)
	sets := map[string]map[string]any{"defaults": {}}
	files, err := filepath.Glob("testdata/*.values.yaml")
	must(t, err)
	for _, file := range files {
		sets[file] = readValues(t, file)
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		for _, message := range lint.RunAll(dir, sets[name], "operators", lint.WithKubeVersion(version)).Messages {
			// Only catalogues of charts use an icon.
			if !strings.Contains(message.Err.Error(), "icon is recommended") {
				t.Errorf("%s: %s", name, message)
			}
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	_, dir := generatedChart(t)
	tests := map[string]map[string]any{
		"an unknown value":                  {"replica": 2},
		"an unknown value in a group":       {"image": map[string]any{"name": "x"}},
		"a number for a text":               {"nginxImage": 1},
		"no namespace's name":               {"watchNamespaces": []any{"Shop"}},
		"a digest that is none":             {"image": map[string]any{"digest": "abc"}},
		"an unknown level of logging":       {"logLevel": "trace"},
		"an argument that is no flag":       {"extraArgs": []any{"concurrency"}},
		"a secret without a name":           {"imagePullSecrets": []any{map[string]any{"nam": "x"}}},
		"replicas that are fewer than none": {"replicas": -1},
		"a console without a certificate":   {"console": map[string]any{"tlsSecret": ""}},
	}
	for name, values := range tests {
		if _, err := render(t, dir, "operators", values); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// TestCRDIsKept: uninstalling the chart keeps the CRDs.
func TestCRDIsKept(t *testing.T) {
	_, dir := generatedChart(t)
	objects, err := render(t, dir, "operators", nil)
	must(t, err)
	for _, object := range objects {
		if object.Kind() != "CustomResourceDefinition" {
			continue
		}
		annotations, err := object.Get("metadata.annotations")
		must(t, err)
		if annotations.(map[string]any)["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s would be deleted with the release", object.ID())
		}
		return
	}
	t.Error("there is no CRD")
}
