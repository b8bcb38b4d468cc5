package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
)

// AskInstance reads the status of the instance manager at a pod's address.
type AskInstance func(ctx context.Context, podIP string) (instanceapi.Status, error)

// How long an answer is good for. An instance that is settled changes by itself only
// in what certificates it finds, soon after its pod has changed or at any time. One that
// does not answer is asked again after silentFirst, then after twice as long each time, up
// to silentMost.
const (
	settledFor  = 50 * time.Second
	freshFor    = 5 * time.Second
	silentFirst = 2 * time.Second
	silentMost  = 15 * time.Second
)

// attempts is how often a question about a pod that is ready is put, until it is answered.
// An operator that has just started asks all pods of the cluster within moments, and knows
// nothing of them: on a busy machine, silence would be told of pods that serve.
const attempts = 3

// passWait is how long a pass waits for answers. Instances answer within a few milliseconds;
// what takes longer goes on without the pass, and wakes the next one.
const passWait = 50 * time.Millisecond

// How many questions are put at the same time, about all applications. Pods that are known
// to be silent have their own share, so that they never delay the others.
const (
	parallelQuestions = 256
	parallelSilent    = 32
)

// ErrUnanswered ends a pass that cannot decide yet: instances were asked and have not
// answered. The application is reconciled again when they have, or when they count as silent.
var ErrUnanswered = errors.New("instances have not answered yet")

// question is what an answer depends on.
type question struct {
	podIP, containerID string
	asked              instanceapi.Requested
	sync               string
	ready              bool
}

// sameProcess tells whether two questions are about the same run of an instance, whose
// readiness has not changed: if it was silent, it is expected to be silent still.
func (q question) sameProcess(other question) bool {
	return q.podIP == other.podIP && q.containerID == other.containerID && q.ready == other.ready
}

// answer is what an instance said, nil if it did not answer, and about which state of
// its pod.
type answer struct {
	status *instanceapi.Status
	about  question
	// since when the pod is as the question says.
	since time.Time
	// The answer was given at a time, and is good until another.
	at, until time.Time
	// silences in a row.
	silences int
}

// statusAt is the answer at a later time: for how long an instance has served is the one
// thing in it that changes while nothing happens.
func (a answer) statusAt(now time.Time) *instanceapi.Status {
	later := int64(now.Sub(a.at) / time.Second)
	if a.status == nil || a.status.ServingSeconds == nil || later <= 0 {
		return a.status
	}
	status := *a.status
	status.ServingSeconds = new(*a.status.ServingSeconds + later)
	return &status
}

// silent tells whether the pod is known not to answer.
func (a answer) silent(about question) bool {
	return a.silences > 0 && a.about.sameProcess(about)
}

// settled tells whether nothing is under way in an instance.
func settled(s *instanceapi.Status, asked instanceapi.Requested) bool {
	if s.Serving == "" || s.OnProbation || !s.Requested.Matches(asked) || asked.Load != "" && s.Serving != asked.Load {
		return false
	}
	if asked.Test != "" && asked.Test != s.Serving {
		return false
	}
	return !refusesSomething(s)
}

// refusesSomething tells whether an instance has refused what it tries again by itself.
func refusesSomething(s *instanceapi.Status) bool {
	return len(s.ReloadProblems) > 0 ||
		slices.ContainsFunc(s.Revisions, func(r instanceapi.Revision) bool {
			return r.Test == instanceapi.Failed || r.Load == instanceapi.Failed
		}) ||
		slices.ContainsFunc(s.Certificates, func(c instanceapi.Certificate) bool { return c.Error != "" })
}

func questionTo(pod *corev1.Pod) question {
	q := question{podIP: pod.Status.PodIP, asked: Asked(pod), sync: pod.Annotations[naming.AnnotationSync]}
	if nginx := nginxContainer(pod); nginx != nil {
		q.containerID, q.ready = nginx.ContainerID, nginx.Ready
	}
	return q
}
