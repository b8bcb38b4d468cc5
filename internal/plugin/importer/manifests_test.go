package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestManifestsGolden(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join("testdata", "manifests"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range folders {
		t.Run(entry.Name(), func(t *testing.T) {
			documents, err := FindManifests(os.DirFS(filepath.Join("testdata", "manifests", entry.Name())))
			if err != nil {
				t.Fatal(err)
			}
			result, err := Manifests(documents, Options{})
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, entry.Name(), result)
		})
	}
}

func TestManifestsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"kind: Ingress\nmetadata: {name: a}\n":                                        "document 1: apiVersion or kind is missing",
		"apiVersion: v1\nkind: ConfigMap\n":                                           "the manifests have no Ingress",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nspec: {rule: []}\n":         `unknown field "spec.rule"`,
		"apiVersion: v1\nkind: List\nitems: [1]\n":                                    "items[0] is not an object",
		"apiVersion: v1\nkind: ConfigMap\nkind: Secret\n":                             "already set",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: [list]}\n": "cannot unmarshal",
	} {
		_, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(text)}}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", text, err, want)
		}
	}
}

// TestUnrelatedMistakes: an object that decides about no other one is named with its line, and the others are imported. Without
// one that does, paths could be open that it protects.
func TestUnrelatedMistakes(t *testing.T) {
	ingress := ingressYAML("shop", "shop.example.com", "/")
	bad := "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bad}\nspec: {paused: 7}\n"
	result, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(ingress + bad)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	line := 1 + strings.Count(ingress, "\n") + 1
	found := slices.ContainsFunc(result.Review.Items, func(i Item) bool {
		return i.Source == "a.yaml" && i.Line == line && i.Outcome == NotCarried && strings.Contains(i.Note, "Deployment bad")
	})
	if !found || !strings.Contains(strings.Join(result.Review.Steps, "\n"), "Deployment bad") {
		t.Errorf("no item of line %d names it: %+v, %v", line, result.Review.Items, result.Review.Steps)
	}
	list := "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n  metadata: {name: bad}\n  spec: {paused: 7}\n- " +
		strings.ReplaceAll(strings.TrimPrefix(ingress, "---\n"), "\n", "\n  ")
	if result, err = Manifests([]Document{{Name: "a.yaml", Text: []byte(list)}}, Options{}); err != nil || len(result.Applications) != 1 {
		t.Errorf("an item of a list: %v", err)
	}
	for name, text := range map[string]string{
		"another Ingress":  strings.Replace(ingressYAML("bad", "shop.example.com", "/admin", "auth-type=basic"), "tls:", "tsl:", 1),
		"a ConfigMap":      "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ingress-nginx-controller}\ndata: {global-auth-url: [x]}\n",
		"an unknown kind":  "---\n{\"kind\": \"Ingress\",\n",
		"an Ingress in it": "---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rule: 1}}\n",
	} {
		if _, err := Manifests([]Document{{Name: "a.yaml", Text: []byte(ingress + text)}}, Options{}); err == nil || !strings.Contains(err.Error(), "a.yaml:") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
