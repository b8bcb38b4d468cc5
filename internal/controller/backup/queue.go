package backup

import (
	"cmp"
	"context"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/progress"
)

// Queue bounds how many jobs there are at a time, of all kinds together: hundreds of
// applications may change within the same second. Whoever comes too late waits in line, and is
// woken when a job has ended.
//
// It is in memory, since a restarted operator looks at every object again anyway.
type Queue struct {
	jobs  client.Reader
	limit int
	clock clock.PassiveClock
	// wake lets an object be looked at again, by its kind.
	wake map[string]chan event.TypedGenericEvent[types.NamespacedName]

	mu   sync.Mutex
	line []waiter
	// patient are those of the line that let all others go first.
	patient map[waiter]bool
	// starting is how many jobs are being created.
	starting int
}

// waiter is an object that wants a job.
type waiter struct {
	kind string
	types.NamespacedName
}

// NewQueue makes a queue for at most limit jobs at a time. jobs is the cache with all of them.
func NewQueue(jobs client.Reader, limit int, clock clock.PassiveClock) *Queue {
	return &Queue{jobs: jobs, limit: limit, clock: clock, wake: map[string]chan event.TypedGenericEvent[types.NamespacedName]{}, patient: map[waiter]bool{}}
}

// wokenLimit is how many woken objects of a kind may wait for their controller to take them.
const wokenLimit = 1024

// source wakes the objects of a kind. It is called once for each, before anything is started.
func (q *Queue) source(kind string) source.Source {
	woken := make(chan event.TypedGenericEvent[types.NamespacedName], wokenLimit)
	q.wake[kind] = woken
	return source.Channel(woken, handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, key types.NamespacedName) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: key}}
		}))
}

// start starts a job for an object, unless there are too many: then the object is in the line.
func (q *Queue) start(ctx context.Context, object waiter, create func() error) (started bool, err error) {
	return q.begin(ctx, object, false, create)
}

// startPatiently is start for what is about the past: in the line, all others go first.
func (q *Queue) startPatiently(ctx context.Context, object waiter, create func() error) (started bool, err error) {
	return q.begin(ctx, object, true, create)
}

func (q *Queue) begin(ctx context.Context, object waiter, patient bool, create func() error) (started bool, err error) {
	if !q.enter(ctx, object, patient) {
		return false, nil
	}
	err = create()
	q.mu.Lock()
	q.starting--
	q.mu.Unlock()
	if err != nil {
		// The place is free again.
		q.move(ctx)
	}
	return true, err
}

// full tells whether there are too many jobs for another one. Then the object is in the line.
func (q *Queue) full(ctx context.Context, object waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waits(ctx, object, false)
}

func (q *Queue) enter(ctx context.Context, object waiter, patient bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waits(ctx, object, patient) {
		return false
	}
	q.starting++
	q.drop(object)
	return true
}

func (q *Queue) waits(ctx context.Context, object waiter, patient bool) bool {
	if q.free(q.active(ctx)) > 0 {
		return false
	}
	if !slices.Contains(q.line, object) {
		q.line = append(q.line, object)
	}
	q.patient[object] = patient
	return true
}

func (q *Queue) free(active map[string]int) int {
	free := q.limit - q.starting
	for _, n := range active {
		free -= n
	}
	return free
}

// active counts the jobs of each namespace that do something: those of one whose pods cannot
// start must not keep all others waiting.
func (q *Queue) active(ctx context.Context) map[string]int {
	list := &batchv1.JobList{}
	if err := q.jobs.List(ctx, list, client.HasLabels{job.LabelTask}, client.UnsafeDisableDeepCopy); err != nil {
		// The cache is in memory: this is an error of the program.
		log.FromContext(ctx).Error(err, "count the jobs")
		return map[string]int{"": q.limit}
	}
	active, now := map[string]int{}, q.clock.Now()
	for i := range list.Items {
		if progress.Busy(&list.Items[i], now) {
			active[list.Items[i].Namespace]++
		}
	}
	return active
}

// leave forgets an object. If it was just woken, its turn is another's.
func (q *Queue) leave(ctx context.Context, object waiter) {
	q.mu.Lock()
	q.drop(object)
	q.mu.Unlock()
	q.move(ctx)
}

func (q *Queue) drop(object waiter) {
	delete(q.patient, object)
	q.line = slices.DeleteFunc(q.line, func(other waiter) bool { return other == object })
}

// move wakes as many of the line as there is room for: a job has ended, or does nothing. First
// come those that are not patient, of the namespaces that have the fewest jobs.
func (q *Queue) move(ctx context.Context) {
	for _, object := range q.next(ctx) {
		q.wake[object.kind] <- event.TypedGenericEvent[types.NamespacedName]{Object: object.NamespacedName}
	}
}

func (q *Queue) next(ctx context.Context) []waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.line) == 0 {
		return nil
	}
	active := q.active(ctx)
	var woken []waiter
	for free := q.free(active); free > 0 && len(q.line) > 0; free-- {
		first := slices.MinFunc(q.line, func(a, b waiter) int {
			return cmp.Or(q.turn(a)-q.turn(b), active[a.Namespace]-active[b.Namespace])
		})
		woken = append(woken, first)
		active[first.Namespace]++
		q.drop(first)
	}
	return woken
}

func (q *Queue) turn(object waiter) int {
	if q.patient[object] {
		return 1
	}
	return 0
}
