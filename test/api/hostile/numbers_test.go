package hostile

import (
	"encoding/json"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/test/hostile"
)

// TestNumbers: the API server accepts no number that the operator cannot read. One such object
// would make the operator blind, because lists and watches of all objects fail at the first one
// that does not fit.
func TestNumbers(t *testing.T) {
	cases, err := hostile.Numbers()
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for name, a := range sendAll(t, newSender(t), cases) {
		if a.code != http.StatusCreated {
			continue
		}
		accepted++
		var kind struct{ APIVersion, Kind string }
		if err := json.Unmarshal(a.stored, &kind); err != nil {
			t.Fatal(err)
		}
		object, err := plane.Client.Scheme().New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(a.stored, object); err != nil {
			t.Errorf("%s: it is accepted, and the operator cannot read it: %v", name, err)
		}
	}
	t.Logf("%d numbers, %d accepted", len(cases), accepted)
}
