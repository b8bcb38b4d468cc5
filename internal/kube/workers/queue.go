package workers

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a priority queue whose workers are shared between namespaces: a namespace gets another worker only while it
// has fewer than are idle. So one namespace occupies at most half of the workers, two together at most three quarters,
// and an idle worker remains for any other namespace, however long passes take. This is the dynamic threshold of
// Choudhury and Hahne for shared buffers (IEEE/ACM Transactions on Networking 6(2), 1998), with the factor 1.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu sync.Mutex
	// changed is signaled when any of the fields below changes.
	changed *sync.Cond
	// idle is the number of workers without a pass, and waiting the number of those that wait in Get.
	idle, waiting int
	// passes counts the running passes of each namespace.
	passes map[string]int
	// held are the requests that were taken out of the priority queue, in its order. They wait for a worker.
	held   []request
	closed bool
}

// request is a request with its priority.
type request struct {
	reconcile.Request
	priority int
}

func newQueue(workers int, of priorityqueue.PriorityQueue[reconcile.Request]) *queue {
	q := &queue{PriorityQueue: of, idle: workers, passes: map[string]int{}}
	q.changed = sync.NewCond(&q.mu)
	go q.take()
	return q
}

// take takes requests out of the priority queue while a worker waits that none of the held ones may have. It takes no
// more than that, because a held request no longer overtakes others.
func (q *queue) take() {
	for {
		q.mu.Lock()
		for !q.closed && (q.waiting == 0 || q.next() >= 0) {
			q.changed.Wait()
		}
		q.mu.Unlock()
		r, priority, shutdown := q.PriorityQueue.GetWithPriority()
		q.mu.Lock()
		q.closed = q.closed || shutdown
		q.held = append(q.held, request{r, priority})
		q.changed.Broadcast()
		q.mu.Unlock()
		if shutdown {
			return
		}
	}
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *queue) GetWithPriority() (r reconcile.Request, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting++
	defer func() { q.waiting-- }()
	q.changed.Broadcast()
	for {
		if q.closed {
			return reconcile.Request{}, 0, true
		}
		if i := q.next(); i >= 0 {
			got := q.held[i]
			q.held = slices.Delete(q.held, i, i+1)
			q.passes[got.Namespace]++
			q.idle--
			q.changed.Broadcast()
			return got.Request, got.priority, false
		}
		q.changed.Wait()
	}
}

// next returns the index of the held request to run next, or -1: of the namespaces that may have another worker, one
// with the fewest passes.
func (q *queue) next() int {
	best := -1
	for i, r := range q.held {
		if passes := q.passes[r.Namespace]; passes < q.idle && (best < 0 || passes < q.passes[q.held[best].Namespace]) {
			best = i
		}
	}
	return best
}

// Get implements workqueue.TypedInterface.
func (q *queue) Get() (reconcile.Request, bool) {
	r, _, shutdown := q.GetWithPriority()
	return r, shutdown
}

// Done implements workqueue.TypedInterface.
func (q *queue) Done(r reconcile.Request) {
	q.PriorityQueue.Done(r)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.idle++
	if q.passes[r.Namespace]--; q.passes[r.Namespace] == 0 {
		delete(q.passes, r.Namespace)
	}
	q.changed.Broadcast()
}

// ShutDown implements workqueue.TypedInterface.
func (q *queue) ShutDown() {
	q.PriorityQueue.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
