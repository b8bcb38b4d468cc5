package jobs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/progress"
)

// Queue bounds how many jobs of all kinds run at a time: hundreds of applications may change within
// the same second. Objects that find no room wait, and are enqueued when a job has ended.
//
// A namespace gets another job only while it has fewer than there is room for, as it gets workers (kube/workers). So
// the jobs of one namespace take at most half of the room, however long they run. Jobs that users create count only if they name
// an object of the namespace as their controller, and take no more room either.
//
// The queue is in memory, since a restarted operator reconciles every object anyway.
type Queue struct {
	reader client.Reader
	limit  int
	clock  clock.PassiveClock
	// wake enqueues an object in the controller of its kind.
	wake map[string]chan event.TypedGenericEvent[types.NamespacedName]

	mu      sync.Mutex
	waiting []Waiter
	// lowPriority holds the waiting objects that let all others go first.
	lowPriority map[Waiter]bool
	// starting counts the jobs of each namespace that are being created.
	starting map[string]int
}

// Waiter is an object that waits for a job.
type Waiter struct {
	Kind string
	types.NamespacedName
}

// NewQueue returns a queue that runs at most limit jobs at a time. reader is the cache with all of
// them and with their owners. Its reads of a namespace wait for what was written there.
func NewQueue(reader client.Reader, limit int, clock clock.PassiveClock) *Queue {
	return &Queue{reader: reader, limit: limit, clock: clock, wake: map[string]chan event.TypedGenericEvent[types.NamespacedName]{}, lowPriority: map[Waiter]bool{}, starting: map[string]int{}}
}

// maxWoken bounds the woken objects of a kind that its controller has not taken yet.
const maxWoken = 1024

// Source returns the source that enqueues the objects of a kind. Call it once for each kind, before
// anything starts.
func (q *Queue) Source(kind string) source.Source {
	woken := make(chan event.TypedGenericEvent[types.NamespacedName], maxWoken)
	q.wake[kind] = woken
	return source.Channel(woken, handler.TypedEnqueueRequestsFromMapFunc(
		func(_ context.Context, key types.NamespacedName) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: key}}
		}))
}

// StartOrEnqueue starts a job for an object. If there is no room, started is false and the object waits.
func (q *Queue) StartOrEnqueue(ctx context.Context, object Waiter, create func() error) (started bool, err error) {
	return q.startWithPriority(ctx, object, false, create)
}

// StartLowPriority is Start with low priority: in the queue, all others go first.
func (q *Queue) StartLowPriority(ctx context.Context, object Waiter, create func() error) (started bool, err error) {
	return q.startWithPriority(ctx, object, true, create)
}

func (q *Queue) startWithPriority(ctx context.Context, object Waiter, low bool, create func() error) (started bool, err error) {
	if !q.reserve(ctx, object, low) {
		return false, nil
	}
	if err = create(); err == nil {
		q.waitForCache(ctx, object.Namespace)
	}
	q.mu.Lock()
	if q.starting[object.Namespace]--; q.starting[object.Namespace] == 0 {
		delete(q.starting, object.Namespace)
	}
	q.mu.Unlock()
	// The job was not created, or counted twice since the cache shows it: there may be room for another one.
	q.WakeNext(ctx)
	return true, err
}

// waitForCache waits until the cache shows the jobs that were created in a namespace, or has had time to. Until then,
// q.starting counts them. Only an object of the namespace waits: its users can remove the label by which the cache selects
// jobs, and it then never shows them.
func (q *Queue) waitForCache(ctx context.Context, namespace string) {
	if err := q.reader.List(ctx, &batchv1.JobList{}, client.InNamespace(namespace), client.HasLabels{job.LabelTask}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "cannot list the jobs")
	}
}

// EnqueueIfFull reports whether there is no room for another job. If there is none, the object waits.
func (q *Queue) EnqueueIfFull(ctx context.Context, object Waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waitIfFull(ctx, object, false)
}

func (q *Queue) reserve(ctx context.Context, object Waiter, low bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waitIfFull(ctx, object, low) {
		return false
	}
	q.starting[object.Namespace]++
	q.drop(object)
	return true
}

func (q *Queue) waitIfFull(ctx context.Context, object Waiter, low bool) bool {
	if active, err := q.active(ctx); err != nil {
		log.FromContext(ctx).Error(err, "cannot count the jobs")
	} else if active[object.Namespace] < q.free(active) {
		return false
	}
	if !slices.Contains(q.waiting, object) {
		q.waiting = append(q.waiting, object)
	}
	q.lowPriority[object] = low
	return true
}

// free returns the room that is left, whatever jobs the namespaces have.
func (q *Queue) free(active map[string]int) int {
	free := q.limit
	for _, n := range active {
		free -= min(n, q.most())
	}
	return free
}

// most returns how many jobs of one namespace count: half of all.
func (q *Queue) most() int { return (q.limit + 1) / 2 }

// active counts the jobs of each namespace that run or are being created. Jobs whose pods cannot start do not count: they
// must not block all others. It reads what the cache has: it holds the lock, for which all namespaces wait.
func (q *Queue) active(ctx context.Context) (map[string]int, error) {
	list := &batchv1.JobList{}
	if err := q.reader.List(ctx, list, client.HasLabels{job.LabelTask}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, err
	}
	active, now := maps.Clone(q.starting), q.clock.Now()
	for i := range list.Items {
		// More jobs of a namespace make no difference. Each costs a read, and users can create any number.
		if active[list.Items[i].Namespace] >= q.most() || !progress.Busy(&list.Items[i], now) {
			continue
		}
		ours, err := q.isOurs(ctx, &list.Items[i])
		if err != nil {
			return nil, err
		}
		if ours {
			active[list.Items[i].Namespace]++
		}
	}
	return active, nil
}

// isOurs reports whether an object of the namespace controls a job. The label proves nothing: users can set it.
func (q *Queue) isOurs(ctx context.Context, j *batchv1.Job) (bool, error) {
	reference := metav1.GetControllerOf(j)
	if reference == nil || reference.APIVersion != v1alpha1.GroupVersion.String() {
		return false, nil
	}
	var owner client.Object
	switch reference.Kind {
	case "NginxBackup":
		owner = &v1alpha1.NginxBackup{}
	case "NginxBackupPolicy":
		owner = &v1alpha1.NginxBackupPolicy{}
	case "NginxRestore":
		owner = &v1alpha1.NginxRestore{}
	default:
		return false, nil
	}
	err := q.reader.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: reference.Name}, owner, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	return err == nil && owner.GetUID() == reference.UID, client.IgnoreNotFound(err)
}

// Remove removes an object from the queue. If it was just woken, the next one takes its place.
func (q *Queue) Remove(ctx context.Context, object Waiter) {
	q.mu.Lock()
	q.drop(object)
	q.mu.Unlock()
	q.WakeNext(ctx)
}

func (q *Queue) drop(object Waiter) {
	delete(q.lowPriority, object)
	q.waiting = slices.DeleteFunc(q.waiting, func(other Waiter) bool { return other == object })
}

// WakeNext enqueues as many waiting objects as there is room for: first those of normal priority,
// from the namespaces with the fewest jobs.
func (q *Queue) WakeNext(ctx context.Context) {
	for _, object := range q.popNext(ctx) {
		q.wake[object.Kind] <- event.TypedGenericEvent[types.NamespacedName]{Object: object.NamespacedName}
	}
}

func (q *Queue) popNext(ctx context.Context) []Waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil
	}
	active, err := q.active(ctx)
	if err != nil {
		log.FromContext(ctx).Error(err, "cannot count the jobs")
		return nil
	}
	var woken []Waiter
	for free := q.free(active); ; free-- {
		fit := slices.DeleteFunc(slices.Clone(q.waiting), func(w Waiter) bool { return active[w.Namespace] >= free })
		if len(fit) == 0 {
			return woken
		}
		first := slices.MinFunc(fit, func(a, b Waiter) int {
			return cmp.Or(q.priority(a)-q.priority(b), active[a.Namespace]-active[b.Namespace])
		})
		woken = append(woken, first)
		active[first.Namespace]++
		q.drop(first)
	}
}

func (q *Queue) priority(object Waiter) int {
	if q.lowPriority[object] {
		return 1
	}
	return 0
}
