package view

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// responses are those of pods, by their names.
type responses map[string]func() ([]byte, error)

// Get implements Measurer.
func (r responses) Get(_ context.Context, pod client.ObjectKey, _ string, _ map[string]string) ([]byte, error) {
	return r[pod.Name]()
}

func fails(err error) func() ([]byte, error) { return func() ([]byte, error) { return nil, err } }

func replies(text string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(text), nil }
}

// TestSilentPods: the user learns why a pod cannot be read, unless it is starting.
func TestSilentPods(t *testing.T) {
	pods := podsOf("web", "web-1", "web-2", "web-3", "web-4", "web-5")
	for i := range pods[:4] {
		pods[i].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	found, silent, err := readTraffic(t.Context(), responses{
		"web-1": replies(`{"seconds":60,"requests":60}`),
		"web-2": fails(context.DeadlineExceeded),
		"web-3": replies("<html>" + strings.Repeat("x", 1000)),
		"web-4": fails(errors.New("the API server does not reach pod web-4: no route to host")),
		"web-5": fails(errors.New("connection refused")),
	}, pods)
	if diff := cmp.Diff(map[string]Traffic{"web-1": {RequestsPerSecond: 1}}, found); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	want := []string{"pod web-2 does not answer within 1s", "pod web-3: the answer cannot be read: ", "the API server does not reach pod web-4: no route to host"}
	for i := range max(len(want), len(silent)) {
		if len(silent) != len(want) || !strings.HasPrefix(silent[i], want[i]) || len(silent[i]) > mostReason {
			t.Fatalf("%q, want %q", silent, want)
		}
	}
}

// TestForbiddenPods: a missing right is not a fault of each pod.
func TestForbiddenPods(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web-1", errors.New("no"))
	if _, _, err := readTraffic(t.Context(), responses{"web-1": fails(forbidden)}, podsOf("web", "web-1")); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
}
