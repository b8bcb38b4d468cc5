package observe

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
)

// instances asks instances and remembers what they said. It is a cache only: whatever is
// not in it is asked for again.
//
// A pass waits only for a moment (passWait), and not at all for pods that are known to be
// silent. A request that takes longer goes on in the background; the pass ends with
// ErrUnanswered, and answered queues the application again.
type instances struct {
	ask AskInstance
	now func() time.Time
	// wait is passWait, but in tests.
	wait time.Duration
	// answered is called with an application whose pass has ended before its answers came.
	answered func(types.NamespacedName)
	// questions and silent hold a value for each request that is under way.
	questions, silent chan struct{}

	mu   sync.Mutex
	pods map[types.NamespacedName]map[types.UID]*instance
}

// instance is what is known of the instance manager of one pod.
type instance struct {
	answer
	// unread tells that no pass has seen the answer, since it came too late for the one that asked.
	unread bool
	// call is the request that is under way; nil: there is none.
	call *call
}

// call is one question to an instance, put once or a few times.
type call struct {
	about  question
	since  time.Time
	done   chan struct{}
	cancel context.CancelFunc
	// silent tells that no pass waits for it, since the pod is known to be silent.
	silent bool
	// left tells that the pass that asked has ended.
	left bool
}

func newInstances(ask AskInstance) *instances {
	return &instances{
		ask: ask, now: time.Now, wait: passWait, answered: func(types.NamespacedName) {},
		questions: make(chan struct{}, parallelQuestions), silent: make(chan struct{}, parallelSilent),
		pods: map[types.NamespacedName]map[types.UID]*instance{},
	}
}

// OnAnswer sets what is called with an application that is to be reconciled again, because
// its pass ended with ErrUnanswered or because a silent instance has answered.
func (o *Observer) OnAnswer(queue func(types.NamespacedName)) { o.answers.answered = queue }

// instances reads what the instances of all running pods say.
func (o *Observer) instances(ctx context.Context, nginx *v1alpha2.NginxOperator, state *State) error {
	key := types.NamespacedName{Namespace: nginx.Namespace, Name: nginx.Name}
	o.answers.await(ctx, o.answers.begin(ctx, key, state.Pods))
	if err := ctx.Err(); err != nil {
		return err
	}
	known, ok := o.answers.read(key, state.Pods)
	if !ok {
		return ErrUnanswered
	}
	state.Instances = known
	return nil
}

// begin asks the instances whose answers are not good any more. It returns the calls that a
// pass needs; nil when it need not or must not wait.
func (i *instances) begin(ctx context.Context, key types.NamespacedName, pods []corev1.Pod) (needed []*call) {
	i.mu.Lock()
	defer i.mu.Unlock()
	before, next := i.pods[key], map[types.UID]*instance{}
	left := false
	for n := range pods {
		if !Running(&pods[n]) {
			continue
		}
		known := before[pods[n].UID]
		if known == nil {
			known = &instance{}
		}
		next[pods[n].UID] = known
		if c := i.callFor(ctx, key, pods[n].UID, known, questionTo(&pods[n])); c != nil && !c.silent {
			needed, left = append(needed, c), left || c.left
		}
	}
	for uid, gone := range before {
		if next[uid] == nil {
			gone.abandon()
		}
	}
	if i.pods[key] = next; len(next) == 0 {
		delete(i.pods, key)
	}
	if left {
		// An earlier pass has waited, in vain.
		return nil
	}
	return needed
}

// callFor is the call that the answer to a question comes by; nil: the answer is known.
func (i *instances) callFor(ctx context.Context, key types.NamespacedName, uid types.UID, known *instance, about question) *call {
	now := i.now()
	since := now
	switch c := known.call; {
	case c != nil && c.about == about:
		return c
	case c == nil && known.about == about && (known.unread || now.Before(known.until)):
		return nil
	case known.about == about:
		since = known.since
	}
	known.abandon()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &call{about: about, since: since, done: make(chan struct{}), cancel: cancel, silent: known.silent(about)}
	known.call = c
	go i.run(ctx, key, uid, c)
	return c
}

// abandon ends a call whose answer is of no use any more.
func (k *instance) abandon() {
	if k.call != nil {
		k.call.cancel()
		k.call = nil
	}
}

// run puts a question until it is answered or the instance counts as silent.
func (i *instances) run(ctx context.Context, key types.NamespacedName, uid types.UID, c *call) {
	defer c.cancel()
	slots, most := i.questions, attempts
	if c.silent {
		slots = i.silent
	}
	if c.silent || !c.about.ready {
		most = 1
	}
	var found *instanceapi.Status
	select {
	case slots <- struct{}{}:
		found = i.put(ctx, c.about.podIP, most)
		<-slots
	case <-ctx.Done():
	}
	if i.finish(key, uid, c, found) {
		i.answered(key)
	}
}

// put asks an instance so many times at most; nil: it does not answer.
func (i *instances) put(ctx context.Context, podIP string, most int) *instanceapi.Status {
	for n := 0; n < most && ctx.Err() == nil; n++ {
		if status, err := i.ask(ctx, podIP); err == nil {
			return &status
		}
	}
	return nil
}

// finish notes the outcome of a call. It tells whether the application has to be queued.
func (i *instances) finish(key types.NamespacedName, uid types.UID, c *call, found *instanceapi.Status) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer close(c.done)
	known := i.pods[key][uid]
	if known == nil || known.call != c {
		return false
	}
	now := i.now()
	next := answer{status: found, about: c.about, since: c.since, at: now, until: now}
	switch {
	case found == nil:
		if known.silent(c.about) {
			next.silences = known.silences
		}
		next.until = now.Add(min(silentFirst<<min(next.silences, 8), silentMost))
		next.silences++
	case settled(found, c.about.asked) && now.Sub(c.since) > freshFor:
		next.until = now.Add(settledFor)
	}
	known.answer, known.call = next, nil
	known.unread = c.left || c.silent && found != nil
	return known.unread
}

// await waits for calls, for a moment.
func (i *instances) await(ctx context.Context, calls []*call) {
	if len(calls) == 0 {
		return
	}
	timer := time.NewTimer(i.wait)
	defer timer.Stop()
	for _, c := range calls {
		select {
		case <-c.done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// read is what the instances say, by the pod's name, and whether all that is needed is there.
func (i *instances) read(key types.NamespacedName, pods []corev1.Pod) (map[string]*instanceapi.Status, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	complete := true
	for _, known := range i.pods[key] {
		if known.call != nil && !known.call.silent {
			known.call.left, complete = true, false
		}
	}
	if !complete {
		// The pass that decides takes what has come so far, and does not ask for it again.
		for _, known := range i.pods[key] {
			known.unread = true
		}
		return nil, false
	}
	now := i.now()
	said := map[string]*instanceapi.Status{}
	for n := range pods {
		known := i.pods[key][pods[n].UID]
		if known == nil {
			continue
		}
		known.unread = false
		if known.status != nil {
			said[pods[n].Name] = known.statusAt(now)
		}
	}
	return said, true
}

func (i *instances) forget(key types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, known := range i.pods[key] {
		known.abandon()
	}
	delete(i.pods, key)
}
