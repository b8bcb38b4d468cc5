package observe

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
)

// AskInstance reads the status of the instance manager at a pod's address.
type AskInstance func(ctx context.Context, podIP string) (instanceapi.Status, error)

// How long an answer is good for. An instance that is settled changes by itself only
// in what certificates it finds, soon after its pod has changed or at any time; one that
// does not answer is not asked in each pass, since every attempt holds the pass up.
const (
	settledFor = 50 * time.Second
	freshFor   = 5 * time.Second
	silentFor  = 2 * time.Second
)

// attempts is how often a question about a pod that is ready is put, until it is answered.
// An operator that has just started asks all pods of the cluster within moments, and knows
// nothing of them: on a busy machine, silence would be told of pods that serve.
const attempts = 3

// parallelQuestions bounds how many instances of one application are asked at a time.
const parallelQuestions = 64

// instances remembers what instances said. It is a cache only: whatever is not in it
// is asked for again.
type instances struct {
	ask AskInstance
	now func() time.Time

	mu      sync.Mutex
	answers map[types.NamespacedName]map[types.UID]answer
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

// question is what an answer depends on.
type question struct {
	podIP, containerID string
	asked              instanceapi.Requested
	sync               string
	ready              bool
}

func newInstances(ask AskInstance) *instances {
	return &instances{ask: ask, now: time.Now, answers: map[types.NamespacedName]map[types.UID]answer{}}
}

func (i *instances) forget(key types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.answers, key)
}

// swap replaces the answers of an application.
func (i *instances) swap(key types.NamespacedName, answers map[types.UID]answer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(answers) == 0 {
		delete(i.answers, key)
		return
	}
	i.answers[key] = answers
}

func (i *instances) known(key types.NamespacedName) map[types.UID]answer {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.answers[key]
}

// instances asks the instances of all running pods, in parallel.
func (o *Observer) instances(ctx context.Context, nginx *v1alpha2.NginxOperator, state *State) error {
	key := types.NamespacedName{Namespace: nginx.Namespace, Name: nginx.Name}
	known := o.answers.known(key)
	answers := make([]answer, len(state.Pods))
	var group errgroup.Group
	group.SetLimit(parallelQuestions)
	now := o.answers.now()
	for i := range state.Pods {
		pod := &state.Pods[i]
		if !Running(pod) {
			continue
		}
		about := questionTo(pod)
		last, since := known[pod.UID], now
		if last.about == about {
			since = last.since
		}
		if last.about == about && now.Before(last.until) {
			answers[i] = last
			continue
		}
		group.Go(func() error {
			answers[i] = o.answers.put(ctx, about, since, last.attempts(about))
			return nil
		})
	}
	_ = group.Wait() // No question returns an error: an instance that is silent is an observation.
	state.Instances = map[string]*instanceapi.Status{}
	next := map[types.UID]answer{}
	for i, a := range answers {
		if a.about.podIP == "" {
			continue
		}
		next[state.Pods[i].UID] = a
		if a.status != nil {
			state.Instances[state.Pods[i].Name] = a.statusAt(now)
		}
	}
	o.answers.swap(key, next)
	return ctx.Err()
}

// attempts is how often the next question is put. Who is known to be silent is asked once:
// every attempt holds the pass up.
func (a answer) attempts(about question) int {
	if !about.ready || a.about == about && a.status == nil {
		return 1
	}
	return attempts
}

// put puts a question to an instance, so many times at most.
func (i *instances) put(ctx context.Context, about question, since time.Time, most int) answer {
	status, err := i.ask(ctx, about.podIP)
	for n := 1; err != nil && n < most && ctx.Err() == nil; n++ {
		status, err = i.ask(ctx, about.podIP)
	}
	now := i.now()
	a := answer{about: about, since: since, at: now, until: now}
	switch {
	case err != nil:
		a.until = now.Add(silentFor)
		return a
	case settled(&status, about.asked) && now.Sub(since) > freshFor:
		a.until = now.Add(settledFor)
	}
	a.status = &status
	return a
}

// settled tells whether nothing is under way in an instance.
func settled(s *instanceapi.Status, asked instanceapi.Requested) bool {
	if s.Serving == "" || s.Requested != asked || asked.Load != "" && s.Serving != asked.Load {
		return false
	}
	if asked.Test != "" && asked.Test != s.Serving {
		return false
	}
	for _, r := range s.Revisions {
		if r.Test == instanceapi.Failed || r.Load == instanceapi.Failed {
			return false
		}
	}
	for _, c := range s.Certificates {
		if c.Error != "" {
			return false
		}
	}
	return true
}

// Asked is what a pod's annotations ask its instance for.
func Asked(pod *corev1.Pod) instanceapi.Requested {
	return instanceapi.Requested{
		Test:  pod.Annotations[naming.AnnotationConfigTest],
		Load:  pod.Annotations[naming.AnnotationConfig],
		Grant: pod.Annotations[naming.AnnotationConfigGrant],
	}
}

// Ready tells whether a pod serves, in the kubelet's word.
func Ready(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ReadySince is when a pod became ready, or stopped being it.
func ReadySince(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// Running tells whether a pod has an instance that can be expected to answer.
func Running(pod *corev1.Pod) bool {
	nginx := nginxContainer(pod)
	return pod.DeletionTimestamp == nil && pod.Status.PodIP != "" && nginx != nil && nginx.State.Running != nil
}

func questionTo(pod *corev1.Pod) question {
	q := question{podIP: pod.Status.PodIP, asked: Asked(pod), sync: pod.Annotations[naming.AnnotationSync]}
	if nginx := nginxContainer(pod); nginx != nil {
		q.containerID, q.ready = nginx.ContainerID, nginx.Ready
	}
	return q
}

func nginxContainer(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == naming.NginxContainer {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}
