package status

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/kube/messages"
	nginxstatus "example.com/nginx-operator/internal/nginx/status"
)

// maxNote is the limit of the API for the note of an event, in bytes.
const maxNote = 1024

// TierEvents are the events of a tier.
type TierEvents struct {
	// Name of the tier, for the notes.
	Name   string
	Events []nginxstatus.Event
}

// Events returns the events of a cache. Those of several tiers with the same reason are one: Kubernetes takes another
// event with the same reason about the same state of an object for a repetition, and would not keep its note.
func Events(tiers ...TierEvents) []nginxstatus.Event {
	var all []nginxstatus.Event
	for _, tier := range tiers {
		for _, e := range tier.Events {
			e.Note = tier.Name + ": " + e.Note
			same := slices.IndexFunc(all, func(known nginxstatus.Event) bool {
				return known.Type == e.Type && known.Reason == e.Reason && known.Action == e.Action
			})
			if same < 0 {
				all = append(all, e)
				continue
			}
			all[same].Note += "; " + e.Note
		}
	}
	for i := range all {
		all[i].Note = messages.Shorten(all[i].Note, maxNote)
	}
	return all
}

// DegradedEvents returns the events of what was lost or came back between two statuses. While a rollout replaces shards, its
// own events report that they are away.
func DegradedEvents(before, after *v1alpha1.NginxCacheStatus) []nginxstatus.Event {
	was, is := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionDegraded), meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionDegraded)
	event := nginxstatus.Event{Type: corev1.EventTypeWarning, Reason: is.Reason, Action: "Observe", Note: messages.Shorten(is.Message, maxNote)}
	switch {
	case is.Status == metav1.ConditionFalse:
		event.Type = corev1.EventTypeNormal
		if was == nil || was.Status == metav1.ConditionFalse || was.Reason == v1alpha1.ReasonShardsAway && rollingOut(before, after) {
			return nil
		}
	case was != nil && was.Status == is.Status && was.Message == is.Message,
		is.Reason == v1alpha1.ReasonShardsAway && rollingOut(before, after):
		return nil
	}
	return []nginxstatus.Event{event}
}

// rollingOut reports whether a rollout was under way in one of two statuses.
func rollingOut(statuses ...*v1alpha1.NginxCacheStatus) bool {
	return slices.ContainsFunc(statuses, func(s *v1alpha1.NginxCacheStatus) bool {
		return !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionUpToDate)
	})
}
