package revision

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
)

// TestContentsOfOrders: an order brings all files that the instance may have dropped since it answered. It keeps only what
// it serves and what is requested.
func TestContentsOfOrders(t *testing.T) {
	back := instanceapi.Requested{Test: "good", Load: "good"}
	all := []string{"bad", "good"}
	for name, tt := range map[string]struct {
		status    instanceapi.Status
		failure   observe.OrderFailure
		requested instanceapi.Requested
		want      []string
	}{
		"it does not have them":            {instanceapi.Status{}, "", back, []string{"good"}},
		"it has them for now":              {instanceapi.Status{Serving: "bad", Available: all}, "", back, []string{"good"}},
		"it serves them":                   {instanceapi.Status{Serving: "good", Available: all}, "", back, nil},
		"it serves them from another file": {instanceapi.Status{Serving: "good"}, "", back, []string{"good"}},
		"it tests them":                    {instanceapi.Status{Serving: "bad", Available: all, Requested: instanceapi.Requested{Test: "good"}}, "", back, nil},
		"it loads them":                    {instanceapi.Status{Serving: "bad", Available: all, Requested: back}, "", back, nil},
		"it lost what it was requested":    {instanceapi.Status{Serving: "bad", Available: []string{"bad"}, Requested: back}, "", back, []string{"good"}},
		"it refused an order without them": {instanceapi.Status{Serving: "good", Available: all, Requested: back}, "MissingFiles", back, []string{"good"}},
		"it refused an order otherwise":    {instanceapi.Status{Serving: "good", Available: all}, "Replayed", back, nil},
		"two are requested":                {instanceapi.Status{Available: all}, "", instanceapi.Requested{Test: "bad", Load: "good"}, all},
		"only a test":                      {instanceapi.Status{Available: all}, "", instanceapi.Requested{Test: "bad"}, []string{"bad"}},
	} {
		p := &progress{
			Input: Input{
				State: observe.State{
					Instances:   map[string]*instanceapi.Status{"a": &tt.status},
					Unreachable: map[string]observe.Failures{"a": {Order: tt.failure}},
				},
			},
			selection: &Selection{},
			Progress:  Progress{Stable: nginxconf.Config{Revision: "good"}},
		}
		p.selection.Run.Config.Config = nginxconf.Config{Revision: "bad"}
		if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(p.contents("a", tt.requested)))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
