package observe

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/slots"
	"example.com/nginx-operator/internal/nginx/application"
)

// instances queries instances and caches their answers.
//
// A pass waits only for passWait, and not at all for pods that are known to be silent. A slower query continues in
// the background; the pass ends with ErrUnanswered, and answered queues the application again.
type instances struct {
	get StatusGetter
	now func() time.Time
	// wait is passWait, except in tests.
	wait time.Duration
	// answered is called with an application whose pass ended before its answers arrived.
	answered func(types.NamespacedName)
	// requests and silent bound the queries in flight.
	requests, silent *slots.Slots
	// budget bounds what is kept of all answers.
	budget *budget.Budget

	mu   sync.Mutex
	pods map[types.NamespacedName]map[types.UID]*instance
}

// instance is what is known of the instance manager of one pod.
type instance struct {
	answer
	// unread reports whether no pass has read the answer yet, because it arrived too late for the pass that queried.
	unread bool
	// call is the query in flight; nil if there is none.
	call *call
	// missed are the orders that the instance did not take, although it answers queries; zero: it takes them. unanswered is
	// the number of the last one that it did not refuse.
	missed     Failures
	unanswered int64
}

// tookUnanswered reports whether the instance has taken the last order without an answer: only the answer was lost.
func (k *instance) tookUnanswered() bool {
	return k.unanswered > 0 && k.status != nil && k.status.Orders != nil && k.status.Orders.Number >= k.unanswered
}

// takesOrders forgets the orders that the instance did not take.
func (k *instance) takesOrders() { k.missed, k.unanswered = Failures{}, 0 }

// unreachable returns when an instance did not answer or took no orders; zero: it does.
func (k *instance) unreachable() Failures {
	if k.status == nil && k.silences > 0 {
		return Failures{First: k.silentSince, Last: k.at, Order: k.why}
	}
	return k.missed
}

// call is one query of an instance, with its retries.
type call struct {
	about  statusKey
	since  time.Time
	done   chan struct{}
	cancel context.CancelFunc
	// silent reports whether no pass waits for it, because the pod is known to be silent.
	silent bool
	// left reports whether the pass that queried has ended.
	left bool
}

func newInstances(get StatusGetter) *instances {
	return &instances{
		get: get, now: time.Now, wait: passWait, answered: func(types.NamespacedName) {},
		requests: slots.New(parallelRequests), silent: slots.New(parallelSilent),
		budget: budget.New(MaxAnswersOfNamespace, MaxAnswers),
		pods:   map[types.NamespacedName]map[types.UID]*instance{},
	}
}

// OnAnswer sets the function that is called with an application to reconcile again, because its pass ended with
// ErrUnanswered or because a silent instance has answered.
func (o *Observer) OnAnswer(queue func(types.NamespacedName)) { o.answers.answered = queue }

// instances reads the status of the instances of all running pods.
func (o *Observer) instances(ctx context.Context, app *application.Application, state *State) error {
	key := types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
	o.answers.await(ctx, o.answers.begin(ctx, key, state.Pods))
	if err := ctx.Err(); err != nil {
		return err
	}
	known, unreachable, ok := o.answers.read(key, state.Pods)
	if !ok {
		return ErrUnanswered
	}
	state.Instances, state.Unreachable = known, unreachable
	return nil
}

// begin queries the instances whose answers have expired. It returns the calls that the pass needs; nil if it need
// not or must not wait.
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
		if c := i.callFor(ctx, key, pods[n].UID, known, statusRequestFor(&pods[n])); c != nil && !c.silent {
			needed, left = append(needed, c), left || c.left
		}
	}
	for uid, gone := range before {
		if next[uid] == nil {
			i.drop(key, uid, gone)
		}
	}
	if i.pods[key] = next; len(next) == 0 {
		delete(i.pods, key)
	}
	if left {
		// An earlier pass has already waited in vain.
		return nil
	}
	return needed
}

// callFor returns the call that answers a query; nil if the answer is known.
func (i *instances) callFor(ctx context.Context, key types.NamespacedName, uid types.UID, known *instance, about statusKey) *call {
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
	known.stop()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &call{about: about, since: since, done: make(chan struct{}), cancel: cancel, silent: known.silent(about)}
	known.call = c
	go i.run(ctx, key, uid, c)
	return c
}

// stop ends a call whose answer is no longer needed.
func (k *instance) stop() {
	if k.call != nil {
		k.call.cancel()
		k.call = nil
	}
}

// run queries an instance until it answers or counts as silent.
func (i *instances) run(ctx context.Context, key types.NamespacedName, uid types.UID, c *call) {
	defer c.cancel()
	bound, most := i.requests, attempts
	if c.silent {
		bound = i.silent
	}
	if c.silent || !c.about.ready {
		most = 1
	}
	var found *instanceapi.Status
	var why OrderFailure
	if bound.Acquire(ctx, key.Namespace) {
		found, why = i.put(ctx, c.about.podIP, most)
		bound.Release(key.Namespace)
	}
	if i.finish(key, uid, c, found, why) {
		i.answered(key)
	}
}

// put queries an instance up to a number of times; nil if it does not answer, or if what it answers cannot be used, with the
// reason.
func (i *instances) put(ctx context.Context, podIP string, most int) (found *instanceapi.Status, why OrderFailure) {
	for n := 0; n < most && ctx.Err() == nil; n++ {
		status, err := i.get(ctx, podIP)
		exceeded := (*boundedjson.LimitError)(nil)
		switch {
		case err == nil:
			return &status, ""
		case errors.As(err, &exceeded):
			// It would answer the same again.
			return nil, AnswerTooLarge
		}
	}
	return nil, ""
}

// keep returns what is kept of an answer; nil if it is too large, with the reason.
func (i *instances) keep(key types.NamespacedName, uid types.UID, found *instanceapi.Status) (kept *instanceapi.Status, why OrderFailure) {
	kept = used(found)
	size := boundedjson.Size(*kept)
	if size > MaxAnswerOfPod {
		i.budget.Release(key.Namespace, budget.Item{UID: uid})
		return nil, AnswerTooLarge
	}
	switch i.budget.Keep(key.Namespace, budget.Item{UID: uid}, int64(size)) {
	case budget.OfNamespace:
		return nil, AnswersTooLarge
	case budget.OfAll:
		return nil, AnswersOfAllTooLarge
	}
	return kept, ""
}

// drop forgets an instance.
func (i *instances) drop(key types.NamespacedName, uid types.UID, k *instance) {
	k.stop()
	i.budget.Release(key.Namespace, budget.Item{UID: uid})
}

// stays reports whether an instance changes only by orders. One that takes none may follow what the kubelet delivers, of
// which no event comes.
func (k *instance) stays(found *instanceapi.Status, c *call, now time.Time) bool {
	return k.missed == (Failures{}) && settled(found, c.about.annotations) && now.Sub(c.since) > freshFor
}

// validFor returns how long the answer of an instance is valid that changes only by orders.
func validFor(found *instanceapi.Status) time.Duration {
	if found.Cache != nil {
		return cacheFor
	}
	return settledFor
}

// finish stores the result of a call. It reports whether the application has to be queued.
func (i *instances) finish(key types.NamespacedName, uid types.UID, c *call, found *instanceapi.Status, why OrderFailure) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	defer close(c.done)
	known := i.pods[key][uid]
	if known == nil || known.call != c {
		return false
	}
	now := i.now()
	if found != nil {
		found, why = i.keep(key, uid, found)
	} else {
		i.budget.Release(key.Namespace, budget.Item{UID: uid})
	}
	next := answer{status: found, why: why, about: c.about, since: c.since, at: now, until: now}
	switch {
	case found == nil:
		next.silentSince = now
		if known.silent(c.about) {
			next.silences, next.silentSince = known.silences, known.silentSince
		}
		next.until = now.Add(min(silentRetryFirst<<min(next.silences, 8), silentRetryMax))
		next.silences++
	case known.stays(found, c, now):
		next.until = now.Add(validFor(found))
	}
	another := !c.about.sameProcess(known.about)
	known.answer, known.call = next, nil
	if found == nil || another || known.tookUnanswered() {
		// An instance that is silent, or another process, may take orders when it answers.
		known.takesOrders()
	}
	known.unread = c.left || c.silent && found != nil
	return known.unread
}

// Answered takes over the status with which an instance answered an order.
func (o *Observer) Answered(key types.NamespacedName, uid types.UID, status *instanceapi.Status) {
	if o.answers.take(key, uid, status) {
		o.answers.answered(key)
	}
}

// Unanswered records why an instance did not carry out the order with a number, and makes the next pass query it. Number 0
// stands for an order that could not be sent.
func (o *Observer) Unanswered(key types.NamespacedName, uid types.UID, number int64, why OrderFailure) {
	o.answers.miss(key, uid, number, why)
}

// take replaces what is known of an instance by its answer to an order. It reports whether the application has to be
// queued: a pass has ended without the answer to the query that this one replaces.
func (i *instances) take(key types.NamespacedName, uid types.UID, status *instanceapi.Status) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.pods[key][uid]
	if known == nil {
		return false
	}
	now := i.now()
	known.takesOrders()
	left := known.call != nil && known.call.left
	// A query in flight would bring an older answer.
	known.stop()
	kept, why := i.keep(key, uid, status)
	known.answer = answer{status: kept, why: why, about: known.about, since: known.since, at: now, until: now.Add(orderedFor)}
	if kept == nil {
		known.silences, known.silentSince = 1, now
	}
	known.unread = true
	return left
}

// miss records an order that failed.
func (i *instances) miss(key types.NamespacedName, uid types.UID, number int64, why OrderFailure) {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.pods[key][uid]
	if known == nil {
		return
	}
	now := i.now()
	known.unread, known.until = false, now
	known.missed.add(now, why)
	if !why.refused() {
		known.unanswered = max(known.unanswered, number)
	}
}

// await waits for calls, at most for the wait of a pass.
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

// read returns the status of the instances by pod name, the others that are unreachable, and whether all that the pass
// needs is there.
func (i *instances) read(key types.NamespacedName, pods []corev1.Pod) (said map[string]*instanceapi.Status, unreachable map[string]Failures, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	complete := true
	for _, known := range i.pods[key] {
		if known.call != nil && !known.call.silent {
			known.call.left, complete = true, false
		}
	}
	if !complete {
		// The pass that decides uses the answers that have arrived, and does not query again.
		for _, known := range i.pods[key] {
			known.unread = true
		}
		return nil, nil, false
	}
	now := i.now()
	said, unreachable = map[string]*instanceapi.Status{}, map[string]Failures{}
	for n := range pods {
		known := i.pods[key][pods[n].UID]
		if known == nil {
			continue
		}
		known.unread = false
		if known.status != nil {
			said[pods[n].Name] = known.statusAt(now)
		}
		if failures := known.unreachable(); failures != (Failures{}) {
			unreachable[pods[n].Name] = failures
		}
	}
	return said, unreachable, true
}

func (i *instances) forget(key types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for uid, known := range i.pods[key] {
		i.drop(key, uid, known)
	}
	delete(i.pods, key)
}
