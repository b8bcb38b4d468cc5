package pipeline

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/status"
)

// TestRefusalIsPublishedOnce: a condition that repeatedly becomes False with the same message is
// published once.
func TestRefusalIsPublishedOnce(t *testing.T) {
	rejected := func(note string) status.Event { return status.Event{Reason: v1alpha2.ReasonConfigRejected, Note: note} }
	applied := status.Event{Reason: status.EventConfigApplied}
	unavailable := status.Event{Reason: status.EventUnavailable}
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	var r rejections
	for _, step := range []struct {
		what     string
		revision string
		events   []status.Event
		want     []status.Event
	}{
		{"it is refused", "r2", []status.Event{rejected("a")}, []status.Event{rejected("a")}},
		{"again", "r2", []status.Event{rejected("a"), unavailable}, []status.Event{unavailable}},
		{"and again", "r2", []status.Event{rejected("a")}, []status.Event{}},
		{"for another reason", "r2", []status.Event{rejected("b")}, []status.Event{rejected("b")}},
		{"another configuration", "r3", []status.Event{rejected("b")}, []status.Event{rejected("b")}},
		{"one is served", "r1", []status.Event{applied}, []status.Event{applied}},
		{"the same mistake once more", "r3", []status.Event{rejected("b")}, []status.Event{rejected("b")}},
	} {
		next := status.Result{Events: step.events}
		next.Status.Config = &v1alpha2.ConfigStatus{Revision: step.revision}
		if diff := cmp.Diff(step.want, r.news(key, next)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	r.forget(key)
	next := status.Result{Events: []status.Event{rejected("b")}}
	if got := r.news(key, next); len(got) != 1 {
		t.Errorf("of an application that was recreated: %v", got)
	}
}
