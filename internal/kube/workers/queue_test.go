package workers

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// controllerWorkers is the number of workers in the tests.
const controllerWorkers = 16

// pool is a queue with workers whose passes run until they are ended.
type pool struct {
	*queue
	group sync.WaitGroup

	mu      sync.Mutex
	running map[reconcile.Request]chan struct{}
	order   []reconcile.Request
}

// start runs a test with a pool whose workers wait for requests.
func start(t *testing.T, test func(t *testing.T, c *pool)) {
	synctest.Test(t, func(t *testing.T) {
		options := Options(controllerWorkers, Retry{})
		q, ok := options.NewQueue("test", options.RateLimiter).(*queue)
		if !ok {
			t.Fatal("it is another queue")
		}
		c := &pool{queue: q, running: map[reconcile.Request]chan struct{}{}}
		for range controllerWorkers {
			c.group.Go(c.work)
		}
		test(t, c)
		c.ShutDown()
		c.mu.Lock()
		for _, end := range c.running {
			close(end)
		}
		clear(c.running)
		c.mu.Unlock()
		c.group.Wait()
	})
}

func (c *pool) work() {
	for {
		r, shutdown := c.Get()
		if shutdown {
			return
		}
		end := make(chan struct{})
		c.mu.Lock()
		c.running[r], c.order = end, append(c.order, r)
		c.mu.Unlock()
		<-end
		c.Done(r)
	}
}

// end ends a pass.
func (c *pool) end(r reconcile.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.running[r])
	delete(c.running, r)
}

// passes returns the number of running passes of a namespace.
func (c *pool) passes(namespace string) int {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for r := range c.running {
		if r.Namespace == namespace {
			n++
		}
	}
	return n
}

func of(namespace string, number int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("web-%d", number)}}
}

// fill adds requests of a namespace.
func (c *pool) fill(namespace string, requests int) {
	for i := range requests {
		c.Add(of(namespace, i))
	}
}

// TestShares: namespaces whose passes do not end leave workers to the others.
func TestShares(t *testing.T) {
	for _, test := range []struct {
		name string
		// hanging is the number of namespaces with many hanging passes, and want the workers that each has.
		hanging int
		want    []int
	}{
		{"one", 1, []int{8}},
		{"two", 2, []int{8, 4}},
		{"four", 4, []int{8, 4, 2, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			start(t, func(t *testing.T, c *pool) {
				var got []int
				for n := range test.hanging {
					c.fill(fmt.Sprint("hanging-", n), 60)
					<-time.After(time.Minute)
					got = append(got, c.passes(fmt.Sprint("hanging-", n)))
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("the namespaces have %v workers, want %v", got, test.want)
				}
				c.Add(of("shop", 0))
				if c.passes("shop") != 1 {
					t.Error("another namespace waits for them")
				}
			})
		})
	}
}

// TestYoung: while another namespace is active, a namespace begins few passes at a time. Passes that wait do not count.
func TestYoung(t *testing.T) {
	start(t, func(t *testing.T, c *pool) {
		c.Add(of("shop", 0))
		if c.passes("shop") != 1 {
			t.Fatal("the first pass does not run")
		}
		c.fill("busy", 60)
		if got := c.passes("busy"); got != maxYoung {
			t.Errorf("%d passes run, want %d", got, maxYoung)
		}
		<-time.After(young / 2)
		c.end(of("shop", 0))
		c.Add(of("shop", 1))
		<-time.After(young/2 + time.Millisecond)
		if got := c.passes("busy"); got != 2*maxYoung {
			t.Errorf("%d passes run when the first are old, want %d", got, 2*maxYoung)
		}
		<-time.After(young)
		if got := c.passes("busy"); got != controllerWorkers/2 {
			t.Errorf("%d passes run when nothing else is active, want %d", got, controllerWorkers/2)
		}
	})
}

// TestManyNamespaces: all workers are used when many namespaces have something to do.
func TestManyNamespaces(t *testing.T) {
	start(t, func(t *testing.T, c *pool) {
		for n := range controllerWorkers {
			c.fill(fmt.Sprint("shop-", n), 10)
		}
		for n := range controllerWorkers {
			if got := c.passes(fmt.Sprint("shop-", n)); got < 1 {
				// Namespaces that came first have more, until their passes end.
				c.endOne(t)
			}
		}
		total := 0
		for n := range controllerWorkers {
			total += c.passes(fmt.Sprint("shop-", n))
		}
		if total != controllerWorkers {
			t.Errorf("%d of %d workers are used", total, controllerWorkers)
		}
	})
}

// endOne ends a pass of the namespace with the most of them.
func (c *pool) endOne(t *testing.T) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	most, passes := reconcile.Request{}, map[string]int{}
	for r := range c.running {
		if passes[r.Namespace]++; passes[r.Namespace] > passes[most.Namespace] {
			most = r
		}
	}
	c.mu.Unlock()
	c.end(most)
	synctest.Wait()
}

// TestNothingIsLost: each request runs, once, and a request that comes during its pass runs once more.
func TestNothingIsLost(t *testing.T) {
	start(t, func(t *testing.T, c *pool) {
		c.fill("shop", 40)
		c.fill("shop", 40)
		c.passes("shop")
		c.Add(of("shop", 0)) // It is running, or held.
		want := map[reconcile.Request]int{}
		for range 41 {
			c.mu.Lock()
			running := slices.Collect(func(yield func(reconcile.Request) bool) {
				for r := range c.running {
					if !yield(r) {
						return
					}
				}
			})
			c.mu.Unlock()
			if len(running) == 0 {
				break
			}
			c.end(running[0])
			synctest.Wait()
		}
		for _, r := range c.order {
			want[r]++
		}
		if len(want) != 40 || len(c.order) > 42 || want[of("shop", 0)] != 2 {
			t.Errorf("%d requests ran %d times, the repeated one %d times", len(want), len(c.order), want[of("shop", 0)])
		}
	})
}

// TestPriority: an edit overtakes the many requests of a start, which have a low priority.
func TestPriority(t *testing.T) {
	start(t, func(t *testing.T, c *pool) {
		c.fill("busy", 8)
		if got := c.passes("busy"); got != 8 {
			t.Fatalf("%d passes run", got)
		}
		low := -100
		for n := range 100 {
			c.AddWithOpts(priorityqueue.AddOpts{Priority: &low}, of(fmt.Sprint("shop-", n), 0))
		}
		synctest.Wait()
		c.Add(of("edited", 0))
		synctest.Wait()
		// All workers are taken, so the next to end makes room for the edit.
		for range 2 {
			c.endOne(t)
		}
		if c.passes("edited") != 1 {
			t.Errorf("the edit waits; these have run: %v", c.order)
		}
	})
}

// TestManyOfOneNamespace: the requests of a namespace that has its passes are held, and cost the others nothing, however many
// they are.
func TestManyOfOneNamespace(t *testing.T) {
	start(t, func(t *testing.T, c *pool) {
		const many = 20_000
		c.Add(of("else", 0))
		synctest.Wait()
		for i := range many {
			c.Add(of("shop", i))
		}
		synctest.Wait()
		c.mu.Lock()
		began := len(c.order)
		c.mu.Unlock()
		c.queue.mu.Lock()
		namespaces, held := len(c.held), len(c.held["shop"])
		c.queue.mu.Unlock()
		if namespaces != 1 || began+held != many+1 {
			t.Errorf("%d passes have begun, and %d requests of %d namespaces are held", began, held, namespaces)
		}
		c.Add(of("new", 0))
		if n := c.passes("new"); n != 1 {
			t.Errorf("another namespace has %d passes", n)
		}
	})
}
