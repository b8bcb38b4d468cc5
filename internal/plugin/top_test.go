package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/plugin/view"
)

// TestNamesOfApplications: top prints the names of applications as list does.
func TestNamesOfApplications(t *testing.T) {
	loads := []view.Load{{Name: "web"}, {Name: "api"}}
	want := []string{"nginxoperator.operator.example.com/web", "nginxoperator.operator.example.com/api"}
	if diff := cmp.Diff(want, namesOfApplications(loads)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
