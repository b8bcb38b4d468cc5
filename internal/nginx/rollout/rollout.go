// Package rollout decides how a configuration goes live. It is pure: it reads the requested revision, the two
// ConfigMaps and the status of the pods, and returns the next step. It remembers nothing between two decisions, so it
// continues wherever a pod, a node or the operator itself was lost.
//
// A configuration R that differs from the one that pods boot from (stable) goes through these steps:
//
//  1. R is written to next, and every pod is ordered to test it.
//  2. One refusal is enough: R is Rejected, and pods that serve anything but stable roll back
//     to it. The pods continue to test R while it is requested, so that R recovers when what
//     was wrong around it (a name that did not resolve) is fixed.
//  3. When all pods have accepted R, one of them, the canary, is ordered to load it. When it
//     serves R, the others follow in waves.
//  4. When all pods serve R, and none of them may still roll back by itself, R is written to stable.
//
// While pods of an old template are being replaced, those of the newest one decide: a configuration often changes
// together with the ports or the version of nginx that it needs. An old pod that refuses it continues to serve what
// it serves until it is gone.
//
// If a canary is requested, the others wait until the first pods have served R for a while without performing worse.
// While the first pods of a new template still have to prove themselves, the old ones are left alone altogether (see
// TemplateInput).
//
// Without a pod that can test it, R waits, and pods that start in the meantime boot from stable, which has served
// before. Only the very first configuration is stable at once.
package rollout

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Input is what a decision is made from.
type Input struct {
	// Requested is the revision that the spec requests; empty if there is none, because something blocks it.
	// Everything is then left as it is.
	Requested string
	// Stable is the revision in the ConfigMap that pods boot from; empty if there is none, or if another client
	// damaged it.
	Stable string
	// Proven reports whether every pod has served Requested before, because it is a rollback.
	Proven bool
	// Refused is why an earlier load of Requested ended worker processes, nginx or a container; empty if none did. It
	// holds whatever pods accept now.
	Refused []instanceapi.Problem
	// HoldOld reports whether the pods of an old template are to be left alone.
	HoldOld bool
	// Held reports whether a failed rollout stays as it is: pods get no requests, and boot with what they booted with
	// before.
	Held bool
	// Paused reports whether no more pods may load the configuration.
	Paused bool
	// Canary is nil if no canary is requested.
	Canary *Canary
	// Following is the Follow of the candidate's ConfigMap; nil if there is none.
	Following *instanceapi.Follow
	// Now is the time of the decision.
	Now time.Time
	// Pods are those that are not being deleted, oldest first.
	Pods []Pod
}

// Pod is what is known of one pod.
type Pod struct {
	Name string
	// Newest reports whether the pod is of the requested template.
	Newest bool
	// Ready reports whether the kubelet reports the pod as ready.
	Ready bool
	// Running reports whether the instance can be expected to answer.
	Running bool
	// Unreachable reports whether the pod has not answered, or not taken orders, for a while. It follows the mounted
	// ConfigMaps, at the kubelet's speed, and nothing waits for it.
	Unreachable bool
	// UID identifies the pod, and StartedAt is when its container started.
	UID       string
	StartedAt time.Time
	// Status is what the instance reports; nil if it did not answer.
	Status *instanceapi.Status
}

// Phase is the progress of a configuration.
type Phase string

// The phases.
const (
	// Blocked: no configuration can be requested.
	Blocked Phase = "Blocked"
	// Testing: not every pod has tested the configuration yet.
	Testing Phase = "Testing"
	// Rejected: a pod refused the configuration.
	Rejected Phase = "Rejected"
	// Loading: pods are about to serve the configuration.
	Loading Phase = "Loading"
	// Settled: every pod serves the configuration.
	Settled Phase = "Settled"
)

// Decision is the next step, and the facts for the status.
type Decision struct {
	Phase Phase
	// Stable reports whether the requested configuration is to be written to stable.
	Stable bool
	// OnProbation reports whether every pod serves the configuration, and one may still roll back by itself.
	OnProbation bool
	// Lost reports whether what pods boot from was lost, and only a configuration that they accept can replace it.
	Lost bool
	// Orders are what the pods are to be requested, by name.
	Orders map[string]instanceapi.Requested
	// Hints come with the orders, by name.
	Hints map[string]instanceapi.Hints
	// Problems are why the configuration was refused. In phase Testing they come from pods that are about to be
	// replaced.
	Problems []instanceapi.Problem
	// Reverted reports whether a pod loaded the configuration and rolled back.
	Reverted bool
	// Fatal reports whether the load of the configuration ended worker processes, nginx or a container.
	Fatal bool
	// Accepted and Serving count the pods that accepted the configuration and that serve it. Pods counts those that
	// take part.
	Accepted, Serving, Pods int
	// Unreachable are the names of the pods that should answer and do not.
	Unreachable []string
	// Overdue are the names of the pods that have accepted an order long ago, and have neither carried it out nor refused the
	// configuration. The others do not wait for them.
	Overdue []string
	// AnalyzeAgain are the canaries to compare with the others, Served the time that they have served; empty if there
	// are none.
	AnalyzeAgain []string
	Served       time.Duration
	// CanaryFailure is why the canaries must not continue; empty if they may.
	CanaryFailure string
	// After is when to look at the canaries again; 0 if there are none.
	After time.Duration
	// Follow lets unreachable pods load a revision without an order; nil: none.
	Follow *instanceapi.Follow
	// FirstFollower is the name of the pod that the others wait for before they follow, and FailedFollowers are those that
	// were first before, and restarted or were not ready; empty: none.
	FirstFollower   string
	FailedFollowers []string
	// Watch reports whether only the instances know about the next step, so that they have to be queried again soon.
	Watch bool
}

// leastWave is the number of pods that may load a configuration at the same time once the canary serves it; in a
// large application it is a quarter of the pods.
const leastWave = 10

// Decide returns the next step.
func Decide(in Input) Decision {
	if in.Requested == "" {
		return Decision{Phase: Blocked, Unreachable: podsWithoutStatus(in.Pods), Follow: in.Following}
	}
	in.Pods = in.podsToUpdate()
	d := count(in)
	d.canary(in)
	verdict, problems := combineVerdicts(in)
	d.Problems = problems
	switch verdict {
	case instanceapi.Failed:
		d.reject(in)
	case instanceapi.Passed:
		d.accept(in)
	default:
		d.Phase = Testing
		d.test(in)
	}
	d.Stable, d.Lost = decideStable(in, d.Phase)
	d.Stable = d.Stable && !d.OnProbation
	d.hint(in)
	d.follow(in)
	if in.Held {
		d.hold()
		// Nothing is in progress, but pods that did not answer would be reported as silent forever.
		d.Watch = len(d.Unreachable) > 0
		return d
	}
	d.Watch = d.OnProbation || len(d.Unreachable) > 0 || in.inMotion(d.Phase)
	return d
}

// inMotion reports whether a pod is about to do what the operator has to know next.
func (in *Input) inMotion(phase Phase) bool {
	switch phase {
	case Testing:
		return anyRunning(in.Pods)
	case Loading:
		return in.loads()
	case Rejected:
		return in.goesBack()
	default:
		return false
	}
}

// stays reports whether a pause keeps pods from loading what is requested.
func (in *Input) stays() bool { return in.Paused && in.Stable != "" && in.Stable != in.Requested }

// loads reports whether pods load the configuration, or may.
func (in *Input) loads() bool {
	return !in.stays() || slices.ContainsFunc(in.Pods, func(p Pod) bool {
		return p.Status != nil && p.Status.OnProbation || p.orderedToLoad(in.Requested) && !p.serves(in.Requested)
	})
}

// goesBack reports whether a pod still serves what is refused.
func (in *Input) goesBack() bool {
	return in.Stable != in.Requested && slices.ContainsFunc(in.Pods, func(p Pod) bool { return p.serves(in.Requested) })
}

// reject rolls back a configuration that a pod refused, or rolled back from.
func (d *Decision) reject(in Input) {
	d.Phase = Rejected
	d.Reverted = in.refusedForGood() || anyReverted(in.Pods, in.Requested)
	d.Fatal = in.refusedForGood() || anyFatal(in.Pods, in.Requested)
	d.goBack(in)
}

// accept lets the pods load the configuration, until all of them serve it.
func (d *Decision) accept(in Input) {
	d.Phase = Loading
	if d.allPodsLoaded(in) {
		d.Phase = Settled
		d.OnProbation = in.Stable != "" && in.Stable != in.Requested && !in.Proven && anyOnProbation(in.Pods)
	} else if !in.stays() {
		d.load(in)
	}
	d.forget(in)
}

// decideStable reports whether the requested configuration becomes the stable one, which pods boot with, or whether the
// stable one was lost.
func decideStable(in Input, phase Phase) (requested, lost bool) {
	switch {
	case in.Held:
		return false, false
	case in.Stable == "":
		// The first configuration is stable at once. But if pods serve another one, what they booted with was lost:
		// they still have it, and the requested one has not been served yet.
		lost = phase != Settled && slices.ContainsFunc(in.Pods, func(p Pod) bool { return p.servesUnrequested(in.Requested) })
		return !lost, lost
	}
	return phase == Settled && !in.HoldOld || in.Proven, false
}

// hold withdraws everything that would change something.
func (d *Decision) hold() {
	clear(d.Orders)
	clear(d.Hints)
	d.AnalyzeAgain, d.CanaryFailure = nil, ""
}

// podsToUpdate returns the pods that get requests. If nothing is new, there is nothing to keep from the old ones.
func (in *Input) podsToUpdate() []Pod {
	if !in.HoldOld || in.Requested == in.Stable {
		return in.Pods
	}
	newest, _ := byTemplate(in.Pods)
	return newest
}

func count(in Input) Decision {
	d := Decision{Orders: map[string]instanceapi.Requested{}, Hints: map[string]instanceapi.Hints{}, Pods: len(in.Pods), Unreachable: podsWithoutStatus(in.Pods)}
	for _, p := range in.Pods {
		if p.serves(in.Requested) {
			d.Serving++
		}
		if p.verdict(in.Requested) == instanceapi.Passed {
			d.Accepted++
		}
		if p.overdue(in.Requested) {
			d.Overdue = append(d.Overdue, p.Name)
		}
	}
	return d
}

func podsWithoutStatus(pods []Pod) []string {
	var names []string
	for _, p := range pods {
		if p.Ready && (p.Status == nil || p.Unreachable) {
			names = append(names, p.Name)
		}
	}
	return names
}

func anyRunning(pods []Pod) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.Running })
}

// requested is what the pod was ordered last, as far as it is known.
func (p Pod) requested() instanceapi.Requested {
	if p.Status == nil {
		return instanceapi.Requested{}
	}
	return p.Status.Requested
}

func (p Pod) serves(revision string) bool {
	return p.Status != nil && p.Status.Serving == revision
}

// revision returns the status of a revision in the pod; zero if the pod has not tried it.
func (p Pod) revision(revision string) instanceapi.Revision {
	if p.Status != nil {
		for _, r := range p.Status.Revisions {
			if r.Revision == revision {
				return r
			}
		}
	}
	return instanceapi.Revision{}
}

// verdict returns the pod's verdict on a revision. What it serves has passed.
func (p Pod) verdict(revision string) instanceapi.Verdict {
	if p.serves(revision) {
		return instanceapi.Passed
	}
	r := p.revision(revision)
	if r.Load == instanceapi.Failed {
		return instanceapi.Failed
	}
	return r.Test
}
