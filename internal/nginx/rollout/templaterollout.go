package rollout

import (
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

// TemplateInput is what a decision about the rollout of a pod template is made from.
type TemplateInput struct {
	Now time.Time
	// Stage is the progress of the rollout, StartedAt when it began.
	Stage     history.Stage
	StartedAt time.Time
	// Paused reports whether it must not continue. It can still fail, but not because of the time.
	Paused bool
	// Deadline is how long it may make no progress.
	Deadline time.Duration
	// Canary is nil if no canary is requested.
	Canary *Canary
	// Complete reports whether every pod is of the template, and serves.
	Complete bool
	// TimedOut reports whether the workload's controller has given up. StallsAt is when a rollout has made no progress for
	// too long, if its controller never gives up; zero if it does.
	TimedOut bool
	StallsAt time.Time
	// Refused is why no pod can be created, in the API server's words; empty if pods can be created.
	Refused string
	// New are the pods of the template, OldReady the number of other pods that serve.
	New      []NewPod
	OldReady int
}

// NewPod is a pod of the template that is being rolled out.
type NewPod struct {
	Name string
	// Node of the pod; empty if it has none.
	Node  string
	Ready bool
	// Created is when the pod was created.
	Created time.Time
	// Running reports whether its instance can be queried.
	Running bool
	// ReadySince is when it became ready.
	ReadySince time.Time
	// Diagnosis is what holds it back, nil if nothing does; NotReady is why it is not ready.
	Diagnosis *poddiagnosis.Diagnosis
	NotReady  string
}

// Outcome of a rollout.
type Outcome string

// The outcomes.
const (
	// Going: it is in progress.
	Going Outcome = "Going"
	// Done: every pod is of the template, and serves.
	Done Outcome = "Done"
	// Failing: it must not continue.
	Failing Outcome = "Failing"
)

// Step is the next step of the rollout of a pod template.
type Step struct {
	Outcome Outcome
	// Stage is the progress of the rollout.
	Stage history.Stage
	// AnalyzeAgain are the canaries to compare with the others, Served the time that they have served; empty if there
	// are none.
	AnalyzeAgain []string
	Served       time.Duration
	// Diagnosis is why it fails.
	Diagnosis poddiagnosis.Diagnosis
	// Stuck is how many new pods are held up by nodes that are at fault rather than the template.
	Stuck int
	// After is when to decide again without an event; 0 if never.
	After time.Duration
}

// proof is how long the first new pods have to be ready before a serving pod is removed: most faults of a pod show in
// its first seconds.
const proof = 5 * time.Second

// Proof is the same in seconds, for the Deployment's minReadySeconds.
const Proof = int32(proof / time.Second)

// analysisInterval is how often canaries are compared.
const analysisInterval = 5 * time.Second

// A pod that is not ready yet is queried again, less often the older it is: what its instance reports, such as a
// refused configuration, emits no event.
const (
	retryFirst = time.Second
	retryMost  = 15 * time.Second
)

// FirstStage returns where the rollout of a template begins. If no pod serves, there is nothing to protect. provable
// reports whether the first new pod can be watched before another old one stops.
func FirstStage(oldReady int, provable bool, canary *Canary) history.Stage {
	switch {
	case oldReady == 0:
		return history.Rolling
	case canary != nil:
		return history.Canary
	case provable:
		return history.Proving
	default:
		return history.Rolling
	}
}

// Advance returns the next step of the rollout of a pod template.
func Advance(in TemplateInput) Step {
	if t, failing := in.failure(); failing {
		return Step{Outcome: Failing, Stage: in.Stage, Diagnosis: t}
	}
	step := Step{Outcome: Going, Stage: in.Stage}
	for _, pods := range in.badNodes() {
		step.Stuck += pods
	}
	switch in.Stage {
	case history.Canary:
		in.advanceCanary(&step)
	case history.Proving:
		in.advanceProving(&step)
	case history.Rolling:
	}
	if in.Paused {
		step.Stage = in.Stage
	}
	if in.Complete && step.Stage == history.Rolling {
		step.Outcome = Done
		return step
	}
	step.After = Soonest(step.After, in.timeUntilFailure())
	return step
}

// stalled reports whether the rollout makes no progress, where its controller does not notice.
func (in TemplateInput) stalled() bool {
	return in.mayStall() && !in.Now.Before(in.StallsAt)
}

// mayStall reports whether the next pod has to follow by itself. Before, pods wait because the others have to prove
// themselves.
func (in TemplateInput) mayStall() bool {
	return !in.StallsAt.IsZero() && in.Stage == history.Rolling && !in.Complete && !in.Paused
}

// overdue reports whether too few new pods became ready in time. The Deployment controller reports later standstills,
// but not this one in all cases. Pods that are ready now are not overdue, however late it is: the operator may not
// have run for a while. Those that come and go are found when they are gone.
func (in TemplateInput) overdue() bool {
	since, waiting := in.waiting()
	if !waiting || in.Complete || in.enough() {
		return false
	}
	return !in.Now.Before(since.Add(in.limit()))
}

// enough reports whether as many new pods are ready as have to be now.
func (in TemplateInput) enough() bool {
	if in.Stage == history.Canary && in.Canary != nil {
		return in.ready() >= in.Canary.Replicas
	}
	return in.ready() > 0
}

// waiting returns since when new pods have had their time. In a pause, they have all of it. Without a pod there is none to
// wait for, unless its creation was refused: the application may be scaled to zero.
func (in TemplateInput) waiting() (since time.Time, waiting bool) {
	if in.Paused {
		return time.Time{}, false
	}
	if len(in.New) == 0 {
		return in.StartedAt, in.Refused != ""
	}
	first := in.New[0].Created
	for _, p := range in.New {
		if p.Created.Before(first) {
			first = p.Created
		}
	}
	return in.since(first), true
}

// since returns a time that a pod shows, or the beginning of the rollout if that is later. Times in the future are those of
// another clock, and say nothing.
func (in TemplateInput) since(shown time.Time) time.Time {
	if shown.Before(in.StartedAt) || shown.After(in.Now) {
		return in.StartedAt
	}
	return shown
}

// limit returns how long new pods may take, including the time that they have to serve.
func (in TemplateInput) limit() time.Duration {
	switch {
	case in.Stage == history.Canary && in.Canary != nil:
		return in.Deadline + in.Canary.Duration
	case in.Stage == history.Proving:
		return in.Deadline + proof
	default:
		return in.Deadline
	}
}

func (in TemplateInput) notReadyMessage() string {
	for _, p := range in.New {
		if !p.Ready && p.NotReady != "" {
			return "a new pod is not ready: " + p.NotReady
		}
	}
	return ""
}

func (in TemplateInput) ready() int {
	n := 0
	for _, p := range in.New {
		if p.Ready {
			n++
		}
	}
	return n
}

// advanceProving waits until a new pod has been ready for a while.
func (in TemplateInput) advanceProving(step *Step) {
	left := proof
	for _, p := range in.New {
		if p.Ready {
			left = min(left, proof-in.Now.Sub(p.ReadySince))
		}
	}
	switch {
	case left <= 0 || in.OldReady == 0 && in.ready() > 0:
		step.Stage = history.Rolling
	case left < proof:
		step.After = left
	}
}

// advanceCanary waits until the first new pods have served for their time without performing worse than the others.
func (in TemplateInput) advanceCanary(step *Step) {
	if in.Canary == nil {
		step.Stage = history.Rolling
		return
	}
	if !in.enough() {
		return
	}
	for _, p := range in.New {
		if !p.Ready {
			continue
		}
		served := in.Now.Sub(in.since(p.ReadySince))
		if len(step.AnalyzeAgain) == 0 || served < step.Served {
			step.Served = served
		}
		step.AnalyzeAgain = append(step.AnalyzeAgain, p.Name)
	}
	switch passed, failure := in.Canary.conclude(step.Served); {
	case failure != "":
		step.Outcome = Failing
		step.Diagnosis = poddiagnosis.Diagnosis{Reason: v1alpha2.ReasonCanaryFailed, Message: failure}
	case passed:
		step.Stage = history.Rolling
	default:
		step.After = in.Canary.pause(step.Served)
	}
}

// timeUntilFailure returns the time until a diagnosis becomes unrecoverable that is not yet.
func (in TemplateInput) timeUntilFailure() time.Duration {
	var after time.Duration
	if since, waiting := in.waiting(); waiting && !in.Complete && !in.enough() {
		after = Soonest(after, since.Add(in.limit()).Sub(in.Now))
	}
	if in.mayStall() {
		after = Soonest(after, in.StallsAt.Sub(in.Now))
	}
	for _, p := range in.New {
		if p.Diagnosis != nil && !p.Diagnosis.FailAfter.IsZero() {
			after = Soonest(after, in.failAfter(p).Sub(in.Now))
		}
		if p.Running && !p.Ready {
			after = Soonest(after, min(max(in.Now.Sub(p.Created)/4, retryFirst), retryMost))
		}
	}
	return after
}

// Soonest returns the shorter of two waits, of which 0 stands for none.
func Soonest(a, b time.Duration) time.Duration {
	switch {
	case b <= 0:
		return a
	case a <= 0:
		return b
	default:
		return min(a, b)
	}
}
