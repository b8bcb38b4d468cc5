package importer

import (
	"os"
	"path/filepath"
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
