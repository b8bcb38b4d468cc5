package api

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// importInputs are the inputs of the importer's own tests.
const importInputs = "../../internal/plugin/importer/testdata"

// TestImport: the API server accepts strictly what the import makes of each input, unless the review says what to correct.
func TestImport(t *testing.T) {
	namespace := newNamespace(t)
	folders, err := filepath.Glob(importInputs + "/[cm]*/*")
	must(t, err)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			code, manifests, review := kubectlNginx(t, "import", "-f", folder, "-n", namespace)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, review)
			}
			err := dryRun(t, namespace, manifests)
			if refused := strings.Contains(review, "Correct the manifests"); refused != (err != nil) {
				t.Errorf("the review says that there is something to correct: %t; the API server: %v", refused, err)
			}
		})
	}
	if len(folders) == 0 {
		t.Errorf("there are no inputs in %s", importInputs)
	}
}

// dryRun has the API server check manifests.
func dryRun(t *testing.T, namespace, manifests string) error {
	t.Helper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader([]byte(manifests)), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		must(t, err)
		object.SetNamespace(namespace)
		if err := kube.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			return err
		}
	}
}
