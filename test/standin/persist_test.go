package standin

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestPersist: a request that was lost is retried, and one that was answered is not.
func TestPersist(t *testing.T) {
	lost, answer := errors.New("stream error: stream ID 536313; PROTOCOL_ERROR; received from peer"), apierrors.NewConflict(corev1.Resource("pods"), "web", nil)
	for name, tt := range map[string]struct {
		answers []error
		tries   int
		want    error
	}{
		"done at once":       {[]error{nil}, 1, nil},
		"lost once":          {[]error{lost, nil}, 2, nil},
		"lost, and answered": {[]error{lost, answer, nil}, 2, answer},
		"answered":           {[]error{answer, nil}, 1, answer},
		"lost for good":      {[]error{lost, lost, lost, lost, lost, lost, nil}, 6, lost},
	} {
		tries := 0
		got := persist(func() error {
			tries++
			return tt.answers[tries-1]
		})
		if !errors.Is(got, tt.want) || tries != tt.tries {
			t.Errorf("%s: tried %d times, got %v", name, tries, got)
		}
	}
}
