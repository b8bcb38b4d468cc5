package revision

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// Defaults of spec.rollout, in seconds and percentage points.
const (
	// DefaultProgressDeadline is that of progressDeadlineSeconds.
	DefaultProgressDeadline = 600
	// DefaultCanaryDuration is that of canary.durationSeconds.
	DefaultCanaryDuration = 60

	defaultCanaryReplicas = 1
	defaultCanaryErrors   = 1
)

// progress computes the Progress of a selection. Each field needs those computed before it.
type progress struct {
	Input
	selection *Selection
	Progress
}

// advance decides the next step of the rollout of what runs.
func (p *progress) advance() (_ Progress, err error) {
	p.Canary = p.canaryParameters()
	p.Began = p.rolling()
	p.Rollout = rollout.Decide(p.configInput())
	p.Step = p.advanceTemplate()
	p.Settled = p.settled()
	p.Stable, p.Next = p.stable(), p.candidate()
	if p.Refusal, err = p.refusal(); err != nil {
		return p.Progress, fmt.Errorf("record the refusal of the configuration: %w", err)
	}
	if p.Records, err = p.records(); err != nil {
		return p.Progress, fmt.Errorf("record the history: %w", err)
	}
	p.CanaryAnalysis = p.canaryAnalysis()
	p.PodAnnotations, p.Orders = p.podAnnotationUpdates(), p.orders()
	if p.Trust, err = p.trust(); err != nil {
		return p.Progress, err
	}
	p.RequeueAfter = rollout.Soonest(rollout.Soonest(p.Step.After, p.selection.Retry.after(p.Now)), p.Rollout.After)
	return p.Progress, nil
}

// skipsCanary reports whether the rollout returns to an earlier revision, which has served before, or a user has promoted it.
func (p *progress) skipsCanary(want *v1alpha2.Canary) bool {
	returns := p.selection.PinnedTo != 0 && ptr.Deref(want.OnRollback, v1alpha2.OnRollbackSkip) == v1alpha2.OnRollbackSkip
	return returns || p.promoted()
}

// promoted reports whether a user has ended the canary of this rollout. A rollout of pods is identified by its number. That of
// a configuration has none yet, and is identified by the revision that it follows: the same configuration may be rolled out
// again later.
func (p *progress) promoted() bool {
	promoted, run := p.Nginx.Annotations[v1alpha2.AnnotationPromote], &p.selection.Run
	if promoted == "" {
		return false
	}
	for i := range p.State.History {
		if r := &p.State.History[i]; r.Template == run.Hash && r.Stage != "" {
			return promoted == strconv.FormatInt(r.Number, 10)
		}
	}
	good := p.State.History.LastGood("")
	return good != nil && good.Template == run.Hash && promoted == v1alpha2.PromotedConfig(run.Config.Revision, good.Number)
}

// rolling returns the record of the template's rollout; nil if none is in progress. A rollout that begins now gets a
// new record.
func (p *progress) rolling() *history.Revision {
	if p.selection.Mode.ReturnsToEarlier() || p.selection.Mode == Held || p.selection.Run.Config.Revision == "" {
		return nil
	}
	hash := p.selection.Run.Hash
	for i := range p.State.History {
		if r := &p.State.History[i]; r.Template == hash && r.Stage != "" {
			return p.pausedOrResumed(r)
		}
	}
	if p.State.LiveTemplate() == hash && p.State.History.HasBeenGood(hash) {
		return nil
	}
	begun := p.begin()
	return &begun
}

// pausedOrResumed returns the record of a rollout that is under way. The time of a pause does not count.
func (p *progress) pausedOrResumed(r *history.Revision) *history.Revision {
	now := *r
	now.Paused = p.selection.Paused
	if r.Paused && !now.Paused || r.StartedAt.After(p.Now) {
		// A time in the future was written by a wrong clock.
		now.StartedAt = p.Now
	}
	return &now
}

// begin returns the record of a rollout that begins now: a new one, or that of a revision that is requested again.
func (p *progress) begin() history.Revision {
	begun := p.newRecord()
	if known := p.State.History.Named(p.selection.Run.Name); known != nil {
		number := begun.Number
		begun = *known
		begun.Failure, begun.Cause = history.Failure{}, ""
		if p.selection.PinnedTo == 0 && known.Failures.Of(p.selection.Attempt) == 0 {
			begun.Number = number
		}
		if begun.State == history.StateFailed {
			begun.State = history.StateCandidate
		}
	}
	begun.StartedAt, begun.Paused = p.Now, p.selection.Paused
	begun.Stage = rollout.FirstStage(p.oldReady(), p.ordered() || AllowsSurge(p.rolloutSpec()), p.Canary)
	if p.templateStillRunning() {
		begun.Stage = history.Rolling
	}
	return begun
}

// templateStillRunning reports whether the pods of a template that is requested again were never removed: they need not
// prove themselves again.
func (p *progress) templateStillRunning() bool {
	w := p.State.Workload()
	if w == nil {
		return false
	}
	ready := 0
	for _, p := range p.newPods() {
		if p.Ready {
			ready++
		}
	}
	return ready > 0 && ready >= int(w.Wanted)
}

// advanceTemplate decides the next step of the rollout of the template; zero if none is under way.
func (p *progress) advanceTemplate() rollout.Step {
	r := p.Began
	if r == nil {
		return rollout.Step{}
	}
	timedOut, refused := p.timedOut(r.StartedAt)
	return rollout.Advance(rollout.TemplateInput{
		Now:       p.Now,
		Stage:     r.Stage,
		Paused:    r.Paused,
		StartedAt: r.StartedAt,
		Deadline:  p.progressDeadline(),
		Canary:    p.Canary,
		Complete:  p.settled(),
		TimedOut:  timedOut,
		StallsAt:  p.stallsAt(r.StartedAt),
		Refused:   refused,
		New:       p.newPods(),
		OldReady:  p.oldReady(),
	})
}

// ordered reports whether the pods are replaced one after the other, each under its own name.
func (p *progress) ordered() bool {
	w := p.State.Workload()
	return w != nil && w.Ordered
}

// stallsAt returns when a rollout has made no progress for too long, if pods are replaced in order: the StatefulSet
// controller waits forever. It is zero otherwise.
func (p *progress) stallsAt(began time.Time) time.Time {
	if !p.ordered() {
		return time.Time{}
	}
	last := began
	for _, pod := range p.newPods() {
		for _, at := range []time.Time{pod.Created, pod.ReadySince} {
			if at.After(last) && !at.After(p.Now) {
				last = at
			}
		}
	}
	return last.Add(p.progressDeadline())
}

func (p *progress) progressDeadline() time.Duration {
	return time.Duration(ptr.Deref(p.rolloutSpec().ProgressDeadlineSeconds, DefaultProgressDeadline)) * time.Second
}

// canaryParameters returns how the first pods are compared with the others; nil if no canary is requested.
func (p *progress) canaryParameters() *rollout.Canary {
	want := p.rolloutSpec().Canary
	if want == nil || p.skipsCanary(want) {
		return nil
	}
	most := max(1, int(ptr.Deref(p.Nginx.Spec.Replicas, 1)))
	if w := p.State.Workload(); w != nil {
		most = max(1, int(w.Wanted))
	}
	c := &rollout.Canary{
		Replicas:     min(most, int(ptr.Deref(want.Replicas, defaultCanaryReplicas))),
		Duration:     time.Duration(ptr.Deref(want.DurationSeconds, DefaultCanaryDuration)) * time.Second,
		Verdict:      p.Verdict,
		OnNoEvidence: ptr.Deref(want.OnNoEvidence, v1alpha2.OnNoEvidenceWait),
	}
	switch {
	case p.selection.Paused:
		c.OnNoEvidence, c.Wait = v1alpha2.OnNoEvidenceWait, forever
	case c.OnNoEvidence == v1alpha2.OnNoEvidenceWait:
		c.Wait = p.progressDeadline()
	}
	return c
}

// forever is how long a paused canary waits for evidence.
const forever = 100 * 365 * 24 * time.Hour

// AllowsSurge reports whether a new pod may start before an old one stops.
func AllowsSurge(spec v1alpha2.Rollout) bool {
	surge := spec.MaxSurge
	return surge == nil || *surge != intstr.FromInt32(0) && *surge != intstr.FromString("0%")
}

// settled reports whether every pod is of the selected template, and serves without probation.
func (p *progress) settled() bool {
	w := p.State.Workload()
	if w == nil || p.State.LiveTemplate() != p.selection.Run.Hash || p.Rollout.Serving+p.servingStable() == 0 || p.Rollout.OnProbation {
		return false
	}
	over := p.Rollout.Phase == rollout.Settled || p.Rollout.Phase == rollout.Rejected
	return over && p.State.RolledOut(w.Wanted)
}

// servingStable counts the pods that serve what pods boot with.
func (p *progress) servingStable() int {
	n, stable := 0, p.stableRevision()
	for _, instance := range p.State.Instances {
		if stable != "" && instance.Serving == stable {
			n++
		}
	}
	return n
}

// timedOut reads the workload's status since a rollout began: whether its controller has given up, and why it can
// create no pod.
func (p *progress) timedOut(began time.Time) (gaveUp bool, refused string) {
	w := p.State.Workload()
	if w == nil || p.State.LiveTemplate() != p.selection.Run.Hash || w.ObservedGeneration < w.Object.GetGeneration() {
		return false, ""
	}
	return w.GaveUp && !w.GaveUpAt.Before(began.Truncate(time.Second)), w.Refused
}

// newPods returns the pods of the selected template.
func (p *progress) newPods() []rollout.NewPod {
	var pods []rollout.NewPod
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		if pod.DeletionTimestamp != nil || observe.TemplateOf(pod) != p.selection.Run.Hash {
			continue
		}
		instance := p.State.Instances[pod.Name]
		fresh := rollout.NewPod{
			Name: pod.Name, Node: pod.Spec.NodeName, Created: pod.CreationTimestamp.Time,
			Running: observe.Running(pod), Ready: observe.Ready(pod), ReadySince: observe.ReadySince(pod),
		}
		if problem := p.missingCertificate(instance); fresh.Ready && problem != "" {
			fresh.Ready, fresh.NotReady = false, problem
		} else if !fresh.Ready {
			fresh.Diagnosis = poddiagnosis.Of(pod, instance, p.selection.Run.Config.Revision)
			fresh.NotReady = poddiagnosis.NotReady(pod, instance)
		}
		pods = append(pods, fresh)
	}
	return pods
}

// missingCertificate returns why a pod serves without a certificate that a pod of another template has, or "". Such a pod
// serves the other hosts, but must not replace one that serves all of them.
func (p *progress) missingCertificate(instance *instanceapi.Status) string {
	if instance == nil {
		return ""
	}
	for _, c := range instance.Certificates {
		if c.Error != "" && c.NotAfter == nil && p.othersHave(c.Name) {
			return fmt.Sprintf("tls %s: %s", c.Name, c.Error)
		}
	}
	return ""
}

// othersHave reports whether a pod of another template that serves has a certificate.
func (p *progress) othersHave(certificate string) bool {
	for i := range p.State.Pods {
		pod := &p.State.Pods[i]
		instance := p.State.Instances[pod.Name]
		if instance == nil || !observe.Ready(pod) || observe.TemplateOf(pod) == p.selection.Run.Hash {
			continue
		}
		if slices.ContainsFunc(instance.Certificates, func(c instanceapi.Certificate) bool { return c.Name == certificate && c.NotAfter != nil }) {
			return true
		}
	}
	return false
}

// oldReady counts the pods of other templates that serve.
func (p *progress) oldReady() int {
	n := 0
	for i := range p.State.Pods {
		if pod := &p.State.Pods[i]; observe.Ready(pod) && observe.TemplateOf(pod) != p.selection.Run.Hash {
			n++
		}
	}
	return n
}

// holdsOldPods reports whether the old pods are to be left alone, because the new ones have to prove themselves
// first.
func (p *progress) holdsOldPods() bool {
	return p.Began != nil && (p.Began.Stage == history.Proving || p.Began.Stage == history.Canary) && p.oldReady() > 0
}
