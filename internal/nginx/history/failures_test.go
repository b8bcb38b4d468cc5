package history

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFailuresOutliveTheOperator: the time and the number of failures are read back as they were
// written.
func TestFailuresOutliveTheOperator(t *testing.T) {
	at := time.Date(2026, 11, 23, 15, 0, 0, 123, time.UTC)
	r := Revision{State: StateFailed, Failure: Failure{Attempt: "a1", Reason: "ImagePullFailed", Message: "no", At: at}, Failures: Failures{"a1", 2}}
	meta := &metav1.ObjectMeta{Annotations: r.Annotations(), Labels: r.Labels()}
	got := readMeta(meta)
	if got.Failure != r.Failure || got.Failures != r.Failures || !got.IsAs(meta) {
		t.Errorf("%+v is read as %+v", r, got)
	}
	if n := got.Failures.Of("a2"); n != 0 {
		t.Errorf("another attempt has failed %d times", n)
	}
	for _, spoilt := range []string{"", "a1", "a1/", "a1/x", "a1/-1", "a1/0", "a1/99999"} {
		if f := readFailures(spoilt); f != (Failures{}) {
			t.Errorf("%q is read as %+v", spoilt, f)
		}
	}
}
