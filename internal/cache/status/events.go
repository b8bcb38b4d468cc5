package status

import (
	"slices"

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
