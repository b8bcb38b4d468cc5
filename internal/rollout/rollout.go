// Package rollout decides how a configuration goes live. It is pure: it looks at what
// is asked for, at the two ConfigMaps and at what the pods say, and tells what to do
// next. Nothing is remembered between two looks, so it goes on from wherever a pod, a
// node or the operator itself was lost.
//
// A configuration R that differs from what the pods start with (stable) goes this way:
//
//  1. R is written to next, and every pod is asked to test it.
//  2. One refusal is enough: R is Rejected, and pods that serve anything but stable
//     are asked to go back to it. The pods go on testing R while it is asked for, so
//     that what was wrong around it (a name that did not resolve) heals.
//  3. When all pods have accepted R, one of them, the canary, is asked to load it, and
//     when that serves R the others follow, a wave at a time.
//  4. When all pods serve R, and none of them may still go back by itself, R is written to stable.
//
// While pods of an old template are being replaced, those of the newest decide: a
// configuration often changes together with the ports or the version of nginx that it
// needs. An old pod that refuses it goes on serving what it serves until it is gone.
//
// Where a canary is asked for, the others wait until the first ones have served R for a
// while without doing worse. While the first pods of a new template still have to prove
// themselves, the old ones are left alone altogether (see TemplateInput).
//
// Without a pod that could test it, R waits, and pods that start meanwhile boot from
// stable, which has served before. Only the very first configuration is stable at once.
package rollout

import (
	"slices"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
)

// Input is what a decision is made from.
type Input struct {
	// Requested is the revision that the spec asks for; empty when there is none,
	// because something stands in the way: everything is then left as it is.
	Requested string
	// Stable is the revision in the ConfigMap that pods start with; empty when there
	// is none, or when somebody has spoilt it.
	Stable string
	// Overdue tells that the pods have had time to do what they were asked.
	Overdue bool
	// Proven tells that every pod has served Requested before: it is being gone back to.
	Proven bool
	// Refused is why the load of Requested ended worker processes, nginx or a container before;
	// empty: it did not. It holds whatever pods accept now.
	Refused []instanceapi.Problem
	// HoldOld tells that the pods of an old template are to be left alone.
	HoldOld bool
	// Held tells that what failed is to stay as it is: no pod is asked for anything, and
	// pods start with what they started with before.
	Held bool
	// Canary is nil where none is asked for.
	Canary *Canary
	// Pods are those that are not on their way out, oldest first.
	Pods []Pod
}

// Pod is what is known of one pod.
type Pod struct {
	Name string
	// Newest tells whether the pod is made from the template as it should be now.
	Newest bool
	// Ready is the kubelet's word.
	Ready bool
	// Running tells whether the instance can be expected to answer.
	Running bool
	// Asked is what the pod's annotations ask for already.
	Asked instanceapi.Requested
	// Grant is what the pod is told of the word at which it loads the requested
	// revision; empty: there is no such word.
	Grant string
	// Status is what the instance says; nil when it did not answer.
	Status *instanceapi.Status
}

// Phase is how far a configuration has come.
type Phase string

// The phases.
const (
	// Blocked: no configuration can be asked for.
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

// Decision is what to do next, and what to tell.
type Decision struct {
	Phase Phase
	// Stable tells that the requested configuration is to be written to stable.
	Stable bool
	// OnProbation tells that every pod serves the configuration, and that one may still go back.
	OnProbation bool
	// Lost tells that what pods start with was lost, and that it can be replaced only by a
	// configuration that they accept.
	Lost bool
	// Ask are the pods whose annotations have to change, by name.
	Ask map[string]instanceapi.Requested
	// Tell are the pods that are to be told the word.
	Tell map[string]bool
	// Nudge are the pods that the kubelet has not brought all that they need.
	Nudge map[string]bool
	// Problems are why the configuration was refused. In phase Testing they are those of
	// pods that are about to be replaced.
	Problems []instanceapi.Problem
	// TakenBack tells that a pod has loaded the configuration and gone back.
	TakenBack bool
	// Fatal tells that the load of the configuration ended worker processes, nginx or a container.
	Fatal bool
	// Accepted and Serving count the pods that accepted the configuration and that
	// serve it. Pods counts those that are asked.
	Accepted, Serving, Pods int
	// Unreachable are the names of the pods that should answer and do not.
	Unreachable []string
	// Judge are the canaries that are to be compared with the others, for how long they have
	// served; empty: none.
	Judge  []string
	Served time.Duration
	// CanaryFailure is why the canaries must not go on; empty: they may.
	CanaryFailure string
	// After is when the canaries are to be looked at again; 0: there are none.
	After time.Duration
	// Watch tells that only the instances will tell of the next step: they have to be
	// asked again soon.
	Watch bool
}

// leastWave is how many pods may load a configuration at the same time once the canary
// serves it; in a large application it is a quarter of the pods.
const leastWave = 10

// Decide returns the next step.
func Decide(in Input) Decision {
	if in.Requested == "" {
		return Decision{Phase: Blocked, Unreachable: unreachable(in.Pods)}
	}
	in.Pods = in.asked()
	d := count(in)
	d.canary(in)
	verdict, problems := judge(in)
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
	d.nudge(in)
	d.Stable, d.Lost = boots(in, d.Phase)
	d.Stable = d.Stable && !d.OnProbation
	if in.Held {
		d.hold()
		// Nothing is under way, but who did not answer would be told of as silent for ever.
		d.Watch = len(d.Unreachable) > 0
		return d
	}
	d.Watch = d.Phase == Loading || d.OnProbation || d.Phase == Testing && anyRunning(in.Pods) || d.Phase == Rejected && in.goesBack()
	return d
}

// goesBack tells whether a pod still serves what is refused.
func (in *Input) goesBack() bool {
	return in.Stable != in.Requested && slices.ContainsFunc(in.Pods, func(p Pod) bool { return p.serves(in.Requested) })
}

// reject takes the configuration back that a pod refuses, or has gone back from.
func (d *Decision) reject(in Input) {
	d.Phase = Rejected
	d.TakenBack = in.remembered() || anyTakenBack(in.Pods, in.Requested)
	d.Fatal = in.remembered() || anyFatal(in.Pods, in.Requested)
	d.goBack(in)
}

// accept lets the pods load the configuration, until all of them serve it.
func (d *Decision) accept(in Input) {
	d.Phase = Loading
	if d.loaded(in) {
		d.Phase = Settled
		d.OnProbation = in.Stable != "" && in.Stable != in.Requested && !in.Proven && anyOnProbation(in.Pods)
	} else {
		d.load(in)
	}
	d.forget(in)
}

// boots tells whether pods are to start with the requested configuration, or whether what they started with was lost.
func boots(in Input, phase Phase) (requested, lost bool) {
	switch {
	case in.Held:
		return false, false
	case in.Stable == "":
		// The first configuration is stable at once. But if pods serve another one, what they
		// started with was lost: they have it still, and this one has not been served yet.
		lost = phase != Settled && slices.ContainsFunc(in.Pods, func(p Pod) bool { return p.astray(in.Requested) })
		return !lost, lost
	}
	return phase == Settled && !in.HoldOld || in.Proven, false
}

// hold takes back everything that would change something.
func (d *Decision) hold() {
	clear(d.Ask)
	clear(d.Tell)
	clear(d.Nudge)
	d.Judge, d.CanaryFailure = nil, ""
}

// asked are the pods that are asked for anything. Where nothing is new, there is nothing
// to hold the old ones back from.
func (in *Input) asked() []Pod {
	if !in.HoldOld || in.Requested == in.Stable {
		return in.Pods
	}
	newest, _ := byTemplate(in.Pods)
	return newest
}

// nudge finds the pods that have not done what they were asked for want of something.
func (d *Decision) nudge(in Input) {
	if !in.Overdue {
		return
	}
	for _, p := range in.Pods {
		if _, asked := d.Ask[p.Name]; !asked && p.lacks(in.Requested) {
			d.Nudge[p.Name] = true
		}
	}
}

func count(in Input) Decision {
	d := Decision{Ask: map[string]instanceapi.Requested{}, Tell: map[string]bool{}, Nudge: map[string]bool{}, Pods: len(in.Pods), Unreachable: unreachable(in.Pods)}
	for _, p := range in.Pods {
		if p.serves(in.Requested) {
			d.Serving++
		}
		if p.verdict(in.Requested) == instanceapi.Passed {
			d.Accepted++
		}
	}
	return d
}

func unreachable(pods []Pod) []string {
	var names []string
	for _, p := range pods {
		if p.Ready && p.Status == nil {
			names = append(names, p.Name)
		}
	}
	return names
}

func anyRunning(pods []Pod) bool {
	return slices.ContainsFunc(pods, func(p Pod) bool { return p.Running })
}

// lacks tells whether the pod does not know what it is asked, or was not given what it
// is asked about. The kubelet learns of a pod's annotations and of a ConfigMap on ways of
// their own, and when two changes come close together it can bring a pod the first only;
// it would put that right a minute later.
func (p Pod) lacks(revision string) bool {
	return p.Status != nil && (p.Asked.Test == revision || p.Asked.Load == revision) &&
		(!p.Status.Requested.Matches(p.Asked) || p.verdict(revision) == "" && p.Status.Next != revision && p.Status.Stable != revision)
}

func (p Pod) serves(revision string) bool {
	return p.Status != nil && p.Status.Serving == revision
}

// revision is what the pod says of a revision; zero when it has not tried it.
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

// verdict is the pod's word on a revision. What is served has passed.
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
