package bundle

import (
	"encoding/base64"
	"encoding/xml"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/hack/release/internal/project"
)

const kubeVersion = "1.37"

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// generated builds the bundle into a folder, so that the tests are about this checkout.
func generated(t *testing.T) (*project.Project, string) {
	t.Helper()
	p, err := project.Open("../../../..")
	must(t, err)
	files, err := Files(p)
	must(t, err)
	dir := filepath.Join(t.TempDir(), Dir)
	must(t, Write(dir, files))
	return p, dir
}

func load(t *testing.T, dir string) *operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	bundle, err := manifests.GetBundleFromDir(dir)
	must(t, err)
	return bundle.CSV
}

func TestPublishedRules(t *testing.T) {
	_, dir := generated(t)
	findings, err := Validate(dir, kubeVersion)
	must(t, err)
	for _, finding := range findings {
		for _, message := range slices.Concat(finding.Errors, finding.Warnings) {
			t.Errorf("%s: %s", finding.Validator, message)
		}
	}
}

// TestRulesAreApplied: each broken bundle violates a rule.
func TestRulesAreApplied(t *testing.T) {
	tests := []struct {
		name, file, before, after string
	}{
		{"a CRD without a description", csvFile, "owned:\n    - description: ", "owned:\n    - displayName: "},
		{"a missing CRD", csvFile, "kind: NginxOperator\n", "kind: Other\n"},
		{"a version that is none", csvFile, "minKubeVersion: 1.30.0", "minKubeVersion: one"},
		{"a name that does not follow the convention", csvFile, "name: nginx-operator.v", "name: nginx-operator-v"},
		{"an unknown capability", csvFile, "capabilities: Seamless Upgrades", "capabilities: Everything"},
		{"a provider without a name", csvFile, "provider:\n    name: nginx-operator", "provider:\n    url: https://example.com"},
		{"an icon of another type", csvFile, "mediatype: image/svg+xml", "mediatype: image/webp"},
		{"a budget that blocks every drain", "manifests/nginx-operator_poddisruptionbudget.yaml", "maxUnavailable: 1", "maxUnavailable: 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, dir := generated(t)
			path := filepath.Join(dir, tt.file)
			text, err := os.ReadFile(path)
			must(t, err)
			changed := strings.Replace(string(text), tt.before, tt.after, 1)
			if changed == string(text) {
				t.Fatalf("%s does not hold %q", tt.file, tt.before)
			}
			must(t, os.WriteFile(path, []byte(changed), 0o600))
			findings, err := Validate(dir, kubeVersion)
			if err != nil {
				return
			}
			for _, finding := range findings {
				if len(finding.Errors)+len(finding.Warnings) > 0 {
					return
				}
			}
			t.Error("no rule objects")
		})
	}
}

const csvFile = "manifests/nginx-operator.clusterserviceversion.yaml"

// TestTypes: the ClusterServiceVersion decodes strictly into OLM's types, so that no field is
// misspelt.
func TestTypes(t *testing.T) {
	_, dir := generated(t)
	text, err := os.ReadFile(filepath.Join(dir, csvFile))
	must(t, err)
	must(t, yaml.UnmarshalStrict(text, &operatorsv1alpha1.ClusterServiceVersion{}))
}

// TestRights: the permissions are those of config/, except that the permissions for the certificate
// are reduced to reading and updating the CRD.
func TestRights(t *testing.T) {
	p, dir := generated(t)
	manifests, err := p.RenderKustomization("config/default")
	must(t, err)
	strategy := load(t, dir).Spec.InstallStrategy.StrategySpec
	for kind, permissions := range map[string][]operatorsv1alpha1.StrategyDeploymentPermissions{
		"Role": strategy.Permissions, "ClusterRole": strategy.ClusterPermissions,
	} {
		granted := map[string]bool{}
		for _, permission := range permissions {
			if permission.ServiceAccountName != project.Name {
				t.Errorf("%s is for account %s", kind, permission.ServiceAccountName)
			}
			for _, rule := range permission.Rules {
				granted[asText(t, rule)] = true
			}
		}
		want := boundRules(t, manifests, kind)
		if kind == "ClusterRole" {
			want[asText(t, map[string]any{
				"apiGroups": []string{"apiextensions.k8s.io"}, "resources": []string{"customresourcedefinitions"},
				"resourceNames": []string{"nginxoperators.operator.example.com"}, "verbs": []string{"list", "watch", "get", "update"},
			})] = true
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(granted))); diff != "" {
			t.Errorf("the rules of the %ss (-) and of the bundle (+) differ:\n%s", kind, diff)
		}
	}
}

// boundRules returns the rules of the bound roles of a kind, without those for the certificate.
func boundRules(t *testing.T, manifests []project.Object, kind string) map[string]bool {
	t.Helper()
	rules := map[string]bool{}
	for _, role := range manifests {
		bound := slices.ContainsFunc(manifests, func(o project.Object) bool {
			return o.Kind() == kind+"Binding" && roleOf(o) == role.Name()
		})
		if role.Kind() != kind || !bound || role.Name() == webhookCertName {
			continue
		}
		for _, rule := range role["rules"].([]any) {
			rules[asText(t, rule)] = true
		}
	}
	return rules
}

// asText returns the same text for a rule as written and as decoded.
func asText(t *testing.T, rule any) string {
	t.Helper()
	text, err := yaml.Marshal(rule)
	must(t, err)
	return string(text)
}

// TestWebhook: OLM's webhook is the operator's.
func TestWebhook(t *testing.T) {
	_, dir := generated(t)
	csv := load(t, dir)
	if n := len(csv.Spec.WebhookDefinitions); n != 1 {
		t.Fatalf("there are %d webhooks", n)
	}
	definition, deployment := csv.Spec.WebhookDefinitions[0], csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	if definition.Type != operatorsv1alpha1.ConversionWebhook || definition.DeploymentName != deployment.Name {
		t.Errorf("the webhook is %+v", definition)
	}
	if !slices.Contains(definition.ConversionCRDs, "nginxoperators.operator.example.com") {
		t.Errorf("it converts %v", definition.ConversionCRDs)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Args, "--webhook-cert-dir="+certificates) {
		t.Errorf("the operator makes a certificate of its own: %v", container.Args)
	}
	if i := slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == definition.TargetPort.StrVal }); i < 0 {
		t.Errorf("the operator has no port %s", definition.TargetPort)
	}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported != (mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces) {
			t.Errorf("install mode %s: %t", mode.Type, mode.Supported)
		}
	}
}

// TestUpgradeGraph: replaces, skipRange and the version are consistent.
func TestUpgradeGraph(t *testing.T) {
	p, dir := generated(t)
	csv := load(t, dir)
	if csv.Name != "nginx-operator.v"+p.Version || csv.Spec.Version.String() != p.Version {
		t.Errorf("%s is of version %s, not %s", csv.Name, csv.Spec.Version, p.Version)
	}
	if want := "nginx-operator.v" + p.Release.Replaces; csv.Spec.Replaces != want || csv.Spec.Replaces == csv.Name {
		t.Errorf("it replaces %s, not %s", csv.Spec.Replaces, want)
	}
	if want := ">=" + p.Release.SkipFrom + " <" + p.Version; csv.Annotations["olm.skipRange"] != want {
		t.Errorf("it skips %q, not %q", csv.Annotations["olm.skipRange"], want)
	}
	for _, image := range csv.Spec.RelatedImages {
		if image.Image == "" {
			t.Errorf("the related image %s is not named", image.Name)
		}
	}
}

// TestDescriptors: every field that is shown has a description.
func TestDescriptors(t *testing.T) {
	_, dir := generated(t)
	for _, crd := range load(t, dir).Spec.CustomResourceDefinitions.Owned {
		if len(crd.SpecDescriptors) == 0 || len(crd.StatusDescriptors) == 0 {
			t.Errorf("%s %s has %d and %d descriptors", crd.Name, crd.Version, len(crd.SpecDescriptors), len(crd.StatusDescriptors))
		}
		for _, d := range crd.SpecDescriptors {
			if d.DisplayName == "" || d.Description == "" {
				t.Errorf("%s %s: spec.%s is not described", crd.Name, crd.Version, d.Path)
			}
		}
	}
}

func TestIcon(t *testing.T) {
	_, dir := generated(t)
	icons := load(t, dir).Spec.Icon
	if len(icons) != 1 {
		t.Fatalf("there are %d icons", len(icons))
	}
	image, err := base64.StdEncoding.DecodeString(icons[0].Data)
	must(t, err)
	must(t, xml.Unmarshal(image, new(struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
	})))
}
