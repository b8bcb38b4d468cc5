package suite

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/fault/internal/journey"
)

// TestNetwork: only the requests to pods of the set get no answer, until the network is restored.
func TestNetwork(t *testing.T) {
	i := newOrderedInstance()
	load := func() *http.Request {
		described := i.receiver.Describe()
		signed, err := instanceapi.Sign(i.key, described.Next(instanceapi.Requested{Load: "r2"}, time.Now()), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, instanceapi.PathOrders, http.NoBody)
		r.Header.Set(instanceapi.HeaderOrder, signed.Order)
		return r
	}
	query := func() *http.Request {
		return httptest.NewRequest(http.MethodGet, instanceapi.PathStatus, http.NoBody)
	}
	for reach, want := range map[journey.Reach][]string{
		journey.NoPod:          nil,
		journey.OnePod:         {"a load", "a query"},
		journey.OtherPods:      {"b load", "b query"},
		journey.OrdersToOthers: {"b load"},
		journey.EveryPod:       {"a load", "a query", "b load", "b query"},
	} {
		n := newNetwork()
		n.change(reach)
		dropped := map[string]bool{}
		for _, pod := range []string{"a", "b"} {
			for what, request := range map[string]func() *http.Request{"load": load, "query": query} {
				// The first order to load goes to a.
				n.drops("a", load())
				if restored := n.drops(pod, request()); restored != nil {
					dropped[pod+" "+what] = true
				}
			}
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(dropped))); diff != "" {
			t.Errorf("%s, -want +got:\n%s", reach, diff)
		}
		restored := n.drops("b", load())
		if n.change(journey.NoPod); restored != nil {
			<-restored
		}
		if n.drops("b", load()) != nil {
			t.Errorf("%s: the network is not restored", reach)
		}
	}
}
