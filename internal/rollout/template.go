package rollout

import (
	"time"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/trouble"
)

// TemplateInput is what a decision about the rollout of a pod template is made from.
type TemplateInput struct {
	Now time.Time
	// Stage is how far the rollout has come, StartedAt when it began.
	Stage     history.Stage
	StartedAt time.Time
	// Deadline is how long it may stand still.
	Deadline time.Duration
	// Canary is nil where none is asked for.
	Canary *Canary
	// Complete tells whether every pod is of the template, and serves.
	Complete bool
	// TimedOut tells that the Deployment controller has given up.
	TimedOut bool
	// Refused is why no pod can be created, in the API server's words; empty: they can.
	Refused string
	// New are the pods of the template, OldReady the number of others that serve.
	New      []NewPod
	OldReady int
}

// NewPod is a pod of the template that is being rolled out.
type NewPod struct {
	Name string
	// Node that has it; empty: none has.
	Node  string
	Ready bool
	// Created is when the pod was.
	Created time.Time
	// Running tells whether its instance can be asked.
	Running bool
	// ReadySince is when it became ready.
	ReadySince time.Time
	// Trouble is what holds it back, nil when nothing does; NotReady why it is not ready.
	Trouble  *trouble.Trouble
	NotReady string
}

// Outcome of a rollout.
type Outcome string

// The outcomes.
const (
	// Going: it is under way.
	Going Outcome = "Going"
	// Done: every pod is of the template, and serves.
	Done Outcome = "Done"
	// Failing: it must not go on.
	Failing Outcome = "Failing"
)

// Step is what to do next about the rollout of a pod template.
type Step struct {
	Outcome Outcome
	// Stage is how far it has come.
	Stage history.Stage
	// Judge are the canaries that are to be compared with the others, for how long they have
	// served; empty: none.
	Judge  []string
	Served time.Duration
	// Trouble is why it fails.
	Trouble trouble.Trouble
	// Stuck is how many new pods are held up by nodes that are at fault rather than the template.
	Stuck int
	// After is when to look again, without an event; 0: never.
	After time.Duration
}

// proof is for how long the first new pods have to be ready before a pod that serves is
// taken away: most of what is wrong with a pod shows in its first seconds.
const proof = 5 * time.Second

// Proof is the same in seconds, for the Deployment's minReadySeconds.
const Proof = int32(proof / time.Second)

// judgePause is how often canaries are looked at.
const judgePause = 5 * time.Second

// A pod that is not ready yet is asked again and again, less often the older it is: what
// its instance tells, that nginx refuses the configuration for example, emits no event.
const (
	askFirst = time.Second
	askMost  = 15 * time.Second
)

// FirstStage is where the rollout of a template begins. Without a pod that serves there
// is nothing to be careful about; without a surge a pod has to go before another comes.
func FirstStage(oldReady int, surge bool, canary *Canary) history.Stage {
	switch {
	case oldReady == 0:
		return history.Rolling
	case canary != nil:
		return history.Canary
	case surge:
		return history.Proving
	default:
		return history.Rolling
	}
}

// Advance decides about the rollout of a pod template.
func Advance(in TemplateInput) Step {
	if t, failing := in.failure(); failing {
		return Step{Outcome: Failing, Stage: in.Stage, Trouble: t}
	}
	step := Step{Outcome: Going, Stage: in.Stage}
	for _, pods := range in.badNodes() {
		step.Stuck += pods
	}
	switch in.Stage {
	case history.Canary:
		in.canary(&step)
	case history.Proving:
		in.proving(&step)
	case history.Rolling:
	}
	if in.Complete && step.Stage == history.Rolling {
		step.Outcome = Done
		return step
	}
	step.After = Soonest(step.After, in.patience())
	return step
}

// overdue tells whether too few new pods came up in time. The Deployment controller tells
// of later standstills; of this one it does not in all cases. Pods that are ready now are
// not overdue, however late it is: nobody may have looked for a while. Those that come and
// go are found when they have gone.
func (in TemplateInput) overdue() bool {
	since, waiting := in.waiting()
	if !waiting || in.Complete || in.enough() {
		return false
	}
	return !in.Now.Before(since.Add(in.limit()))
}

// enough tells whether as many new pods are ready as there have to be now.
func (in TemplateInput) enough() bool {
	if in.Stage == history.Canary && in.Canary != nil {
		return in.ready() >= in.Canary.Replicas
	}
	return in.ready() > 0
}

// waiting tells since when new pods have had their time. Without a pod there is none to
// wait for, unless it was refused: the application may be scaled to zero.
func (in TemplateInput) waiting() (since time.Time, waiting bool) {
	if len(in.New) == 0 {
		return in.StartedAt, in.Refused != ""
	}
	first := in.New[0].Created
	for _, p := range in.New {
		if p.Created.Before(first) {
			first = p.Created
		}
	}
	if first.Before(in.StartedAt) {
		first = in.StartedAt
	}
	return first, true
}

// limit is how long new pods may take, with the time for which they have to serve.
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

func (in TemplateInput) notReady() string {
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

// proving waits until a new pod has been ready for a while.
func (in TemplateInput) proving(step *Step) {
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

// canary waits until the first new pods have served for their time without doing worse
// than the others.
func (in TemplateInput) canary(step *Step) {
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
		served := in.Now.Sub(p.ReadySince)
		if len(step.Judge) == 0 || served < step.Served {
			step.Served = served
		}
		step.Judge = append(step.Judge, p.Name)
	}
	switch passed, failure := in.Canary.conclude(step.Served); {
	case failure != "":
		step.Outcome = Failing
		step.Trouble = trouble.Trouble{Reason: v1alpha2.ReasonCanaryFailed, Message: failure}
	case passed:
		step.Stage = history.Rolling
	default:
		step.After = in.Canary.pause(step.Served)
	}
}

// patience is how long until something becomes hopeless that is not yet.
func (in TemplateInput) patience() time.Duration {
	var after time.Duration
	if since, waiting := in.waiting(); waiting && !in.Complete && !in.enough() {
		after = Soonest(after, since.Add(in.limit()).Sub(in.Now))
	}
	for _, p := range in.New {
		if p.Trouble != nil && !p.Trouble.GiveUp.IsZero() {
			after = Soonest(after, p.Trouble.GiveUp.Sub(in.Now))
		}
		if p.Running && !p.Ready {
			after = Soonest(after, min(max(in.Now.Sub(p.Created)/4, askFirst), askMost))
		}
	}
	return after
}

// Soonest is the shorter of two waits, of which 0 stands for none.
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
