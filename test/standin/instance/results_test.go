package instance

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// TestResults: like an instance, a stand-in reports the latest results and those of revisions in use. The operator reads 32.
func TestResults(t *testing.T) {
	var r results
	for n := range 40 {
		r.set(instanceapi.Revision{Revision: fmt.Sprint(n), Test: instanceapi.Passed})
		r.forget("7")
	}
	r.set(instanceapi.Revision{Revision: "38", Test: instanceapi.Failed})
	var got []string
	for _, result := range r {
		got = append(got, fmt.Sprint(result.Revision, " ", result.Test))
	}
	want := []string{"38 Failed", "39 Passed", "37 Passed", "36 Passed", "7 Passed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r.of("39").Test != instanceapi.Passed || r.of("1").Test != "" {
		t.Error("the result of a revision is wrong")
	}
}
