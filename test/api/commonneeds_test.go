package api

import (
	"os"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// row matches a row of a table with three cells.
var row = regexp.MustCompile(`^\| (.+?) \| (.+?) \| (.*?) ?\|$`)

// TestCommonNeeds: the API server accepts the example of each row of docs/common-needs.md, strictly, and the operator keeps
// all of it. A row without an example says that there is no field.
func TestCommonNeeds(t *testing.T) {
	page, err := os.ReadFile("../../docs/common-needs.md")
	must(t, err)
	namespace := newNamespace(t)
	names := sets.New[string]()
	for line := range strings.Lines(string(page)) {
		cells := row.FindStringSubmatch(strings.TrimSpace(line))
		if cells == nil || cells[1] == "need" || strings.HasPrefix(cells[1], "---") {
			continue
		}
		if names.Has(cells[1]) {
			t.Errorf("two rows are called %q", cells[1])
		}
		names.Insert(cells[1])
		t.Run(cells[1], func(t *testing.T) { checkNeed(t, namespace, cells[2], strings.Trim(cells[3], "`")) })
	}
	if len(names) < 30 {
		t.Errorf("the page has only %d rows: the test does not find them", len(names))
	}
}

func checkNeed(t *testing.T, namespace, field, example string) {
	if example == "" {
		if !strings.HasPrefix(field, "none: ") {
			t.Errorf("there is neither an example nor a reason: %s", field)
		}
		return
	}
	spec := v1alpha2.NginxOperatorSpec{}
	if err := yaml.UnmarshalStrict([]byte(example), &spec); err != nil {
		t.Fatalf("%s: %v", example, err)
	}
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "need-"}, Spec: spec}
	must(t, kube.Create(t.Context(), nginx))
	waitObserved(t, nginx)
	eventually(t, "its pods are declared, or it waits for a ConfigMap", func() error {
		must(t, get(t, nginx))
		for _, c := range nginx.Status.Conditions {
			if c.Type != v1alpha2.ConditionAccepted {
				continue
			}
			if c.Status != metav1.ConditionTrue && c.Reason != v1alpha2.ReasonConfigMapNotFound {
				t.Fatalf("%s: %s: %s", example, c.Reason, c.Message)
			}
		}
		return nil
	})
	if _, err := podtemplate.Build(nginx, podtemplate.Options{DefaultImage: "nginx", InstanceImage: "nginx-operator"}); err != nil {
		t.Error(err)
	}
	must(t, kube.Delete(t.Context(), nginx))
}
