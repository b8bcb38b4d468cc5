package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
)

// StatusGetter gets the status of the instance manager at a pod's address.
type StatusGetter func(ctx context.Context, podIP string) (instanceapi.Status, error)

// How long an answer is valid. A settled instance changes by itself only in its certificates, soon after its pod has
// changed or at any time, and in the volume of its cache. One that does not answer is queried again after silentRetryFirst, then after twice as long each
// time, up to silentRetryMax. The answer to an order is as new as the order, and the passes of a change come within
// milliseconds.
const (
	settledFor       = 50 * time.Second
	cacheFor         = 25 * time.Second
	freshFor         = 5 * time.Second
	orderedFor       = 250 * time.Millisecond
	silentRetryFirst = 2 * time.Second
	silentRetryMax   = 15 * time.Second
)

// attempts is how often a ready pod is queried until it answers. An operator that has just started queries all pods
// of the cluster at once, and knows nothing of them: on a busy machine, it would report serving pods as silent.
const attempts = 3

// passWait is how long a pass waits for answers. Instances answer within a few milliseconds; slower queries continue
// without the pass, and queue the next one.
const passWait = 50 * time.Millisecond

// How many queries may be in flight at the same time, for all applications. Pods that are known to be silent have their own
// share, so that they never delay the others.
const (
	parallelRequests = 256
	parallelSilent   = 32
)

// Bounds of what is kept of the answers of pods, in bytes of memory. An honest answer takes about 1 KiB, and less than 100 bytes
// for each revision, problem and certificate more. Beyond the bound of a namespace, or of all together, answers of the
// namespace are not kept, and its pods count as unreachable.
const (
	MaxAnswerOfPod        = 128 << 10
	MaxAnswersOfNamespace = 16 << 20
	MaxAnswers            = 64 << 20
)

// ErrUnanswered ends a pass that cannot decide yet, because queried instances have not answered. The application is
// reconciled again when they have answered, or count as silent.
var ErrUnanswered = errors.New("not all instances have answered yet")

// statusKey is the state of a pod that an answer depends on.
type statusKey struct {
	podIP, containerID string
	annotations        instanceapi.Requested
	sync               string
	ready              bool
}

// sameProcess reports whether two queries are about the same process of an instance, with the same readiness: one
// that was silent is expected to be silent still.
func (q statusKey) sameProcess(other statusKey) bool {
	return q.podIP == other.podIP && q.containerID == other.containerID && q.ready == other.ready
}

// answer is the status of an instance, nil if it did not answer, and the state of its pod at that time.
type answer struct {
	status *instanceapi.Status
	// why there is no status; empty if the instance did not answer at all.
	why   OrderFailure
	about statusKey
	// since is when the pod got into that state.
	since time.Time
	// The answer was given at a time, and is valid until another.
	at, until time.Time
	// silences in a row, and when the first one was.
	silences    int
	silentSince time.Time
}

// statusAt returns the answer at a later time: how old the instance is, and for how long it has served and been requested
// what it is, is all that changes while nothing happens.
func (a answer) statusAt(now time.Time) *instanceapi.Status {
	later := now.Sub(a.at)
	if a.status == nil || later <= 0 {
		return a.status
	}
	status := *a.status
	if status.ServingSeconds != nil {
		status.ServingSeconds = new(*status.ServingSeconds + int64(later/time.Second))
	}
	if status.RequestedSeconds != nil {
		status.RequestedSeconds = new(*status.RequestedSeconds + int64(later/time.Second))
	}
	if status.Orders != nil {
		orders := *status.Orders
		orders.Uptime += later.Milliseconds()
		status.Orders = &orders
	}
	return &status
}

// silent reports whether the pod is known not to answer.
func (a answer) silent(about statusKey) bool {
	return a.silences > 0 && a.about.sameProcess(about)
}

// used returns the part of an answer that the operator uses.
func used(s *instanceapi.Status) *instanceapi.Status {
	kept := *s
	kept.Ports, kept.Certificates = nil, nil
	for _, c := range s.Certificates {
		kept.Certificates = append(kept.Certificates, instanceapi.Certificate{
			Name: c.Name, Error: c.Error, Serial: c.Serial, NotBefore: c.NotBefore, NotAfter: c.NotAfter,
		})
	}
	return &kept
}

// settled reports whether an instance has nothing in progress. annotations are the requests to an instance of a release
// before 0.5.
func settled(s *instanceapi.Status, annotations instanceapi.Requested) bool {
	requested := s.Requested
	switch {
	case s.Serving == "" || s.OnProbation:
		return false
	case s.Orders == nil && requested != annotations:
		return false
	case requested.Load != "" && s.Serving != requested.Load || requested.Test != "" && requested.Test != s.Serving:
		return false
	}
	return !hasRefusal(s)
}

// hasRefusal reports whether an instance refused something that it retries by itself.
func hasRefusal(s *instanceapi.Status) bool {
	return len(s.ReloadProblems) > 0 ||
		slices.ContainsFunc(s.Revisions, func(r instanceapi.Revision) bool {
			return r.Test == instanceapi.Failed || r.Load == instanceapi.Failed
		}) ||
		slices.ContainsFunc(s.Certificates, func(c instanceapi.Certificate) bool { return c.Error != "" })
}

func statusRequestFor(pod *corev1.Pod) statusKey {
	q := statusKey{podIP: pod.Status.PodIP, annotations: RequestedByAnnotations(pod), sync: pod.Annotations[naming.AnnotationSync]}
	if nginx := nginxContainer(pod); nginx != nil {
		q.containerID, q.ready = nginx.ContainerID, nginx.Ready
	}
	return q
}
