package desired

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
	"example.com/nginx-operator/internal/trouble"
)

// Defaults of spec.rollout, in seconds and percentage points.
const (
	defaultProgressDeadline = 600
	defaultCanaryReplicas   = 1
	defaultCanaryDuration   = 60
	defaultCanaryErrors     = 1
)

// skipsCanary tells whether an earlier revision is gone back to, which has served before.
func (in *input) skipsCanary(want *v1alpha2.Canary) bool {
	return in.course.pinned && want.OnRollback != v1alpha2.OnRollbackRun
}

// rolling is the revision whose template is being rolled out, as far as the history
// knows; nil: none is. One that begins now is made from it.
func (in *input) rolling() *history.Revision {
	if in.course.back() || in.course.held() || in.course.run.config.Revision == "" {
		return nil
	}
	hash := in.course.run.hash
	for i := range in.state.History {
		if r := &in.state.History[i]; r.Template == hash && r.Stage != "" {
			return r
		}
	}
	if in.state.LiveTemplate() == hash && in.state.History.HasBeenGood(hash) {
		return nil
	}
	begun := in.begin()
	return &begun
}

// begin is the record of a rollout that begins now: a new one, or that of a revision that
// is asked for once more.
func (in *input) begin() history.Revision {
	begun := in.newRecord()
	if known := in.state.History.Named(in.course.run.name); known != nil {
		number := begun.Number
		begun = *known
		begun.Failure, begun.Cause = history.Failure{}, ""
		if !in.course.pinned && known.Failures.Of(in.course.attempt) == 0 {
			begun.Number = number
		}
		if begun.State == history.Failed {
			begun.State = history.Candidate
		}
	}
	begun.StartedAt = in.state.Now
	begun.Stage = rollout.FirstStage(in.oldReady(), in.surges(), in.canary())
	if in.stillThere() {
		begun.Stage = history.Rolling
	}
	return begun
}

// stillThere tells whether the pods of a template that is asked for again have never gone:
// they need not prove themselves once more against those that came for a moment.
func (in *input) stillThere() bool {
	d := in.state.Deployment()
	if d == nil {
		return false
	}
	ready := 0
	for _, p := range in.newPods() {
		if p.Ready {
			ready++
		}
	}
	return ready > 0 && ready >= int(ptr.Deref(d.Spec.Replicas, 1))
}

// advance decides about the rollout of the template, if one is under way.
func (in *input) advance() rollout.Step {
	r := in.began
	if r == nil {
		return rollout.Step{}
	}
	timedOut, refused := in.timedOut(r.StartedAt)
	return rollout.Advance(rollout.TemplateInput{
		Now:       in.state.Now,
		Stage:     r.Stage,
		StartedAt: r.StartedAt,
		Deadline:  in.progressDeadline(),
		Canary:    in.canary(),
		Complete:  in.complete(),
		TimedOut:  timedOut,
		Refused:   refused,
		New:       in.newPods(),
		OldReady:  in.oldReady(),
	})
}

func (in *input) progressDeadline() time.Duration {
	return time.Duration(ptr.Deref(in.rolloutSpec().ProgressDeadlineSeconds, defaultProgressDeadline)) * time.Second
}

// canary is how the first pods are compared with the others; nil where none is asked for.
func (in *input) canary() *rollout.Canary {
	want := in.rolloutSpec().Canary
	if want == nil || in.skipsCanary(want) {
		return nil
	}
	most := max(1, int(ptr.Deref(in.nginx.Spec.Replicas, 1)))
	if d := in.state.Deployment(); d != nil {
		most = max(1, int(ptr.Deref(d.Spec.Replicas, 1)))
	}
	c := &rollout.Canary{
		Replicas:     min(most, int(ptr.Deref(want.Replicas, defaultCanaryReplicas))),
		Duration:     time.Duration(ptr.Deref(want.DurationSeconds, defaultCanaryDuration)) * time.Second,
		Verdict:      in.state.Verdict,
		OnNoEvidence: cmp.Or(want.OnNoEvidence, v1alpha2.OnNoEvidenceWait),
	}
	if c.OnNoEvidence == v1alpha2.OnNoEvidenceWait {
		c.Wait = in.progressDeadline()
	}
	return c
}

// surges tells whether a new pod may come before an old one goes.
func (in *input) surges() bool {
	surge := in.rolloutSpec().MaxSurge
	return surge == nil || *surge != intstr.FromInt32(0) && *surge != intstr.FromString("0%")
}

// complete tells whether every pod is of the template that is to run, and serves for good.
func (in *input) complete() bool {
	d := in.state.Deployment()
	if d == nil || in.state.LiveTemplate() != in.course.run.hash || in.decision.Serving+in.servingStable() == 0 || in.decision.OnProbation {
		return false
	}
	over := in.decision.Phase == rollout.Settled || in.decision.Phase == rollout.Rejected
	return over && in.state.RolledOut(ptr.Deref(d.Spec.Replicas, 1))
}

// servingStable counts the pods that serve what pods start with.
func (in *input) servingStable() int {
	n, stable := 0, in.stableRevision()
	for _, instance := range in.state.Instances {
		if stable != "" && instance.Serving == stable {
			n++
		}
	}
	return n
}

// timedOut tells what the Deployment controller says of a rollout that began at a time:
// whether it has given up, and why it can create no pod.
func (in *input) timedOut(began time.Time) (gaveUp bool, refused string) {
	d := in.state.Deployment()
	if d == nil || in.state.LiveTemplate() != in.course.run.hash || d.Status.ObservedGeneration < d.Generation {
		return false, ""
	}
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			refused = c.Message
		case c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded":
			gaveUp = !c.LastUpdateTime.Time.Before(began.Truncate(time.Second))
		}
	}
	return gaveUp, refused
}

// newPods are the pods of the template that is to run.
func (in *input) newPods() []rollout.NewPod {
	var pods []rollout.NewPod
	for i := range in.state.Pods {
		pod := &in.state.Pods[i]
		if pod.DeletionTimestamp != nil || observe.TemplateOf(pod) != in.course.run.hash {
			continue
		}
		instance := in.state.Instances[pod.Name]
		p := rollout.NewPod{Name: pod.Name, Node: pod.Spec.NodeName, Created: pod.CreationTimestamp.Time, Running: observe.Running(pod), Ready: observe.Ready(pod), ReadySince: observe.ReadySince(pod)}
		if !p.Ready {
			p.Trouble = trouble.Of(pod, instance, in.course.run.config.Revision)
			p.NotReady = trouble.NotReady(pod, instance)
		}
		pods = append(pods, p)
	}
	return pods
}

// oldReady counts the pods of other templates that serve.
func (in *input) oldReady() int {
	n := 0
	for i := range in.state.Pods {
		if pod := &in.state.Pods[i]; observe.Ready(pod) && observe.TemplateOf(pod) != in.course.run.hash {
			n++
		}
	}
	return n
}

// holdsOld tells whether the old pods are to be left alone: the new ones have to prove
// themselves first.
func (in *input) holdsOld() bool {
	return in.began != nil && (in.began.Stage == history.Proving || in.began.Stage == history.Canary) && in.oldReady() > 0
}
