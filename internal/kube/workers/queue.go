package workers

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a priority queue whose workers are shared between namespaces: a namespace gets another worker only while it
// has fewer than are idle. So one namespace occupies at most half of the workers, two together at most three quarters,
// and an idle worker remains for any other namespace, however long passes take. This is the dynamic threshold of
// Choudhury and Hahne for shared buffers (IEEE/ACM Transactions on Networking 6(2), 1998), with the factor 1.
//
// Workers are not all that namespaces share: a pass that does not wait uses the API server. So while several namespaces are
// active, each has few young passes.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu sync.Mutex
	// changed is signaled when any of the fields below changes.
	changed *sync.Cond
	// idle is the number of workers without a pass, and waiting the number of those that wait in Get.
	idle, waiting int
	// passes are the running passes.
	passes map[reconcile.Request]*pass
	// shares are those of the namespaces with a pass that runs or began lately. active is the number of those that had one
	// begin lately.
	shares map[string]*share
	active int
	// held are the requests of each namespace that were taken out of the priority queue, in its order, and taken is the number of
	// all that ever were. They wait for a worker. Those of one namespace can be as many as it has objects.
	held   map[string][]request
	taken  int
	closed bool
}

const (
	// young is the age from which on a pass is expected to wait for something slow, such as an admission webhook.
	young = time.Second
	// maxYoung is the maximum number of young passes of a namespace while another one is active.
	maxYoung = 2
)

// share is what a namespace has of the workers.
type share struct {
	// running is the number of passes, and young the number of those that are young.
	running, young int
	// lately is the number of passes that began less than a young pass's age ago, the ended ones included.
	lately int
}

// pass is a running pass.
type pass struct {
	of   *share
	aged bool
}

// age makes a pass count as an old one.
func (p *pass) age() {
	if !p.aged {
		p.aged = true
		p.of.young--
	}
}

// request is a request with its priority, and its place in the order of all.
type request struct {
	reconcile.Request
	priority, place int
}

func newQueue(workers int, of priorityqueue.PriorityQueue[reconcile.Request]) *queue {
	q := &queue{PriorityQueue: of, idle: workers, passes: map[reconcile.Request]*pass{}, shares: map[string]*share{}, held: map[string][]request{}}
	q.changed = sync.NewCond(&q.mu)
	go q.take()
	return q
}

// take takes requests out of the priority queue while a worker waits that none of the held ones may have. It takes no
// more than that, because a held request no longer overtakes others.
func (q *queue) take() {
	for {
		q.mu.Lock()
		for !q.closed && (q.waiting == 0 || q.next() != nil) {
			q.changed.Wait()
		}
		q.mu.Unlock()
		r, priority, shutdown := q.PriorityQueue.GetWithPriority()
		q.mu.Lock()
		q.closed = q.closed || shutdown
		q.taken++
		q.held[r.Namespace] = append(q.held[r.Namespace], request{r, priority, q.taken})
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
		if got := q.next(); got != nil {
			if q.held[got.Namespace] = q.held[got.Namespace][1:]; len(q.held[got.Namespace]) == 0 {
				delete(q.held, got.Namespace)
			}
			q.begin(got.Request)
			return got.Request, got.priority, false
		}
		q.changed.Wait()
	}
}

// begin counts a pass.
func (q *queue) begin(r reconcile.Request) {
	s := q.shares[r.Namespace]
	if s == nil {
		s = &share{}
		q.shares[r.Namespace] = s
	}
	if s.lately == 0 {
		q.active++
	}
	s.running, s.young, s.lately = s.running+1, s.young+1, s.lately+1
	p := &pass{of: s}
	q.passes[r] = p
	q.idle--
	time.AfterFunc(young, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		p.age()
		if s.lately--; s.lately == 0 {
			q.active--
		}
		q.drop(r.Namespace)
		q.changed.Broadcast()
	})
	q.changed.Broadcast()
}

// drop forgets a share that says nothing.
func (q *queue) drop(namespace string) {
	if s := q.shares[namespace]; s != nil && *s == (share{}) {
		delete(q.shares, namespace)
	}
}

// next returns the held request to run next; nil: there is none. It is the first one of those namespaces that may have another
// worker and have the fewest passes.
func (q *queue) next() *request {
	var best *request
	fewest := 0
	for namespace, requests := range q.held {
		var s share
		if known := q.shares[namespace]; known != nil {
			s = *known
		}
		first := &requests[0]
		if q.mayHaveAnother(s) && (best == nil || s.running < fewest || s.running == fewest && first.place < best.place) {
			best, fewest = first, s.running
		}
	}
	return best
}

func (q *queue) mayHaveAnother(s share) bool {
	alone := q.active == 0 || q.active == 1 && s.lately > 0
	return s.running < q.idle && (alone || s.young < maxYoung)
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
	if p := q.passes[r]; p != nil {
		p.age()
		p.of.running--
		delete(q.passes, r)
		q.drop(r.Namespace)
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
