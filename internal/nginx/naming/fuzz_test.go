package naming

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// legal matches the names that the schema of an NginxOperator allows.
var legal = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// FuzzNames: every name that an NginxOperator may have gives valid derived names, and two
// applications never get the same name for a kind.
func FuzzNames(f *testing.F) {
	f.Add("web", "web-config", "0123456789", "/srv/a")
	f.Add("web", "web-config-next", "", "/")
	f.Add("default", "a"+strings.Repeat("b", 44), "ffffffffff", "\x00")
	f.Add("web", "web-0123456789", "0123456789", "/srv")
	f.Fuzz(func(t *testing.T, a, b, hash, mountPath string) {
		if len(a) > len(longest) || len(b) > len(longest) || !legal.MatchString(a) || !legal.MatchString(b) {
			return
		}
		taken := map[object]string{}
		for _, application := range slices.Compact([]string{a, b}) {
			for _, o := range derived(application) {
				if other, is := taken[o]; is {
					t.Errorf("%s and %s have the %s %s", other, application, o.kind, o.name)
				}
				taken[o] = application
				if len(validation.IsDNS1035Label(o.name)) > 0 {
					t.Errorf("%s has the %s %q", application, o.kind, o.name)
				}
			}
			checkLabels(t, application)
		}
		if regexp.MustCompile(`^[0-9a-f]{10}$`).MatchString(hash) && len(validation.IsDNS1123Subdomain(Revision(a, hash))) > 0 {
			t.Errorf("a revision is called %q", Revision(a, hash))
		}
		if volume := ContentVolume(mountPath); len(validation.IsDNS1123Label(volume)) > 0 {
			t.Errorf("a volume is called %q", volume)
		}
	})
}

type object struct{ kind, name string }

// derived returns the kinds and names of an application's objects.
func derived(application string) []object {
	return []object{
		{"Workload", Workload(application)}, {"Service", Service(application)}, {"PodDisruptionBudget", PodDisruptionBudget(application)},
		{"ServiceAccount", ServiceAccount(application)}, {"ConfigMap", ConfigMap(application)}, {"ConfigMap", ConfigMapNext(application)},
	}
}

func checkLabels(t *testing.T, application string) {
	t.Helper()
	for key, value := range Labels(application) {
		if len(validation.IsValidLabelValue(value)) > 0 || len(validation.IsQualifiedName(key)) > 0 {
			t.Errorf("label %s is %q", key, value)
		}
	}
}
