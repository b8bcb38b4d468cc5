package page

import (
	"cmp"
	"slices"
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
)

// Rollout is the progress of the pods and of the configuration.
type Rollout struct {
	// Stage is the one of the rollout of the pods: Gates, Proving, Canary, Rolling, or empty if none is under way.
	Stage string `json:"stage,omitempty"`
	// Canary reports whether rollouts have a canary, and Gated whether they have gates.
	Canary bool `json:"canary"`
	Gated  bool `json:"gated"`
	// Candidate is the number of the revision that is rolled out.
	Candidate int64     `json:"candidate,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	// Gates are those that are closed, since Waiting.
	Gates   []string  `json:"gates,omitempty"`
	Waiting time.Time `json:"waiting,omitzero"`
	// Replicas are the declared pods, Updated those of the newest template, and Ready those that serve.
	Replicas int32 `json:"replicas"`
	Updated  int32 `json:"updated"`
	Ready    int32 `json:"ready"`
	// Config is the requested configuration; Tested pods accept it, and Loaded pods serve it. Pods start with Stable.
	Config string `json:"config,omitempty"`
	Stable string `json:"stable,omitempty"`
	Tested int32  `json:"tested"`
	Loaded int32  `json:"loaded"`
	// Message is that of UpToDate while it is not True.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

func rollout(n *v1alpha2.NginxOperator, h history.History) Rollout {
	s := &n.Status
	r := Rollout{Replicas: replicas(n), Updated: s.UpdatedReplicas, Ready: s.ReadyReplicas}
	if spec := n.Spec.Rollout; spec != nil {
		r.Canary, r.Gated = spec.Canary != nil, len(spec.Gates) > 0
	}
	if c := s.Config; c != nil {
		r.Config, r.Stable, r.Tested, r.Loaded = c.Revision, c.StableRevision, c.TestedReplicas, c.LoadedReplicas
	}
	if c := condition(n, v1alpha2.ConditionUpToDate); c != nil && c.Status != "True" {
		r.Reason, r.Message = c.Reason, c.Message
	}
	for _, revision := range h {
		if revision.Stage != "" {
			r.Stage, r.Candidate, r.Started = string(revision.Stage), revision.Number, revision.StartedAt
		}
	}
	if w := s.WaitingRollout; w != nil {
		r.Stage, r.Gates, r.Waiting = "Gates", w.Gates, w.Since.UTC()
	}
	return r
}

// Revision is one of the history.
type Revision struct {
	Number   int64     `json:"number"`
	State    string    `json:"state"`
	Current  bool      `json:"current,omitempty"`
	Pinned   bool      `json:"pinned,omitempty"`
	Image    string    `json:"image"`
	Config   string    `json:"config"`
	Template string    `json:"template"`
	Cause    string    `json:"cause,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Served   time.Time `json:"served,omitzero"`
	Failure  string    `json:"failure,omitempty"`
}

// revisions returns the history, the newest first.
func revisions(n *v1alpha2.NginxOperator, h history.History) []Revision {
	pinned := int64(0)
	if n.Spec.Rollout != nil && n.Spec.Rollout.ToRevision != nil {
		pinned = *n.Spec.Rollout.ToRevision
	}
	all := []Revision{}
	for _, r := range h {
		shown := Revision{
			Number: r.Number, State: string(cmp.Or(history.State(r.Stage), r.State)), Current: r.Number == n.Status.Revision, Pinned: r.Number == pinned,
			Image: r.Image, Config: r.Config, Template: r.Template, Cause: r.Cause, Started: r.StartedAt, Served: r.ServedAt,
		}
		if f := r.Failure; f.Reason != "" {
			shown.Failure = f.Reason + ": " + f.Message
		}
		all = append(all, shown)
	}
	slices.SortFunc(all, func(a, b Revision) int { return cmp.Compare(b.Number, a.Number) })
	return all
}
