package view

import (
	"cmp"
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
)

// ReadHistory reads the revisions of an application, the oldest first.
func ReadHistory(ctx context.Context, c client.Client, owner client.Object) (history.History, error) {
	found := &appsv1.ControllerRevisionList{}
	if err := c.List(ctx, found, client.InNamespace(owner.GetNamespace()), client.MatchingLabels(naming.SelectorLabels(owner.GetName()))); err != nil {
		return nil, err
	}
	return history.Read(found.Items), nil
}

// Revision is a revision of an application as scripts read it.
type Revision struct {
	Revision int64      `json:"revision"`
	State    string     `json:"state"`
	ServedAt *time.Time `json:"servedAt,omitempty"`
	Image    string     `json:"image"`
	Config   string     `json:"config,omitempty"`
	Cause    string     `json:"cause,omitempty"`
	Reason   string     `json:"failureReason,omitempty"`
	Message  string     `json:"failureMessage,omitempty"`
}

// Revisions returns the revisions of a history, the oldest first.
func Revisions(h history.History) []Revision {
	all := make([]Revision, 0, len(h))
	for i := range h {
		r := &h[i]
		shown := Revision{
			Revision: r.Number, State: StateOf(r), Image: r.Image, Config: r.Config, Cause: r.Cause,
			Reason: r.Failure.Reason, Message: r.Failure.Message,
		}
		if !r.ServedAt.IsZero() {
			shown.ServedAt = &r.ServedAt
		}
		all = append(all, shown)
	}
	return all
}

// StateOf returns the state of a revision, or the stage of its rollout.
func StateOf(r *history.Revision) string { return string(cmp.Or(history.State(r.Stage), r.State)) }
