package naming

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// longest has the maximum length that the API allows for metadata.name.
var longest = "a" + strings.Repeat("b", 44)

func TestDerivedNamesAreLegal(t *testing.T) {
	for _, name := range []string{
		Workload(longest), Service(longest), ServiceAccount(longest), PodDisruptionBudget(longest),
		ContentVolume("/" + strings.Repeat("x", 511)),
	} {
		if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
	if problems := validation.IsDNS1123Subdomain(ConfigMapNext(longest)); len(problems) > 0 {
		t.Errorf("the name of the ConfigMap: %v", problems)
	}
	for key, value := range Labels(longest) {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			t.Errorf("%s=%s: %v", key, value, problems)
		}
	}
}

// TestSelectorsAreFrozen: the selector never changes, since existing objects contain it.
func TestSelectorsAreFrozen(t *testing.T) {
	if got, want := Selector("web").String(), "operator.example.com/nginxoperator=web"; got != want {
		t.Errorf("Selector = %q, want %q: selectors cannot be changed", got, want)
	}
}

func TestContentVolumesDiffer(t *testing.T) {
	if ContentVolume("/a") == ContentVolume("/b") {
		t.Error("two mount paths have the same volume")
	}
}
