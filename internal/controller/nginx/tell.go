package nginx

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/desired"
)

// tellWait is how long a pass waits for pods that are told to load a configuration. They
// answer within milliseconds, and a pass that follows asks them what came of it.
const tellWait = 50 * time.Millisecond

// parallelTells bounds how many pods are told at the same time, in all applications.
const parallelTells = 256

// loadRequests are the requests to load a configuration that are under way.
type loadRequests struct {
	mu       sync.Mutex
	underWay map[desired.Tell]bool
}

// begin tells whether a request is not under way yet.
func (l *loadRequests) begin(t desired.Tell) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underWay[t] || len(l.underWay) >= parallelTells {
		return false
	}
	if l.underWay == nil {
		l.underWay = map[desired.Tell]bool{}
	}
	l.underWay[t] = true
	return true
}

func (l *loadRequests) end(t desired.Tell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.underWay, t)
}

// tell tells pods to load what they have tested. One that cannot be told is asked by an
// annotation when its time is over. One that does not answer does not hold the pass up.
func (r *Reconciler) tell(ctx context.Context, tells []desired.Tell) {
	var group sync.WaitGroup
	background := context.WithoutCancel(ctx)
	for _, t := range tells {
		if !r.loads.begin(t) {
			continue
		}
		group.Go(func() {
			defer r.loads.end(t)
			if err := r.Tell(background, t.PodIP, t.Word); err != nil {
				log.FromContext(background).Info("a pod cannot be told to load its configuration", "pod", t.Pod, "reason", err.Error())
			}
		})
	}
	told := make(chan struct{})
	go func() {
		group.Wait()
		close(told)
	}()
	timer := time.NewTimer(tellWait)
	defer timer.Stop()
	select {
	case <-told:
	case <-timer.C:
	case <-ctx.Done():
	}
}
