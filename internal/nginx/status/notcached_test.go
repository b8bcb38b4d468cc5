package status

import "testing"

// TestFirstOf: objects are named in the same order each time, and only the first of many.
func TestFirstOf(t *testing.T) {
	for want, objects := range map[string][]string{
		"ConfigMap a":                                  {"ConfigMap a"},
		"ConfigMap a and Service b":                    {"Service b", "ConfigMap a"},
		"Route a, Route b, Route c and 2 more objects": {"Route e", "Route c", "Route a", "Route d", "Route b"},
	} {
		if got := firstOf(objects); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
