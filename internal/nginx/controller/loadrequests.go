package controller

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/nginx/revision"
)

// loadRequestWait is how long a pass waits for pods that it authorizes to load a configuration. They answer within
// milliseconds, and the next pass reads the result.
const loadRequestWait = 50 * time.Millisecond

// parallelLoadRequests bounds how many load tokens are sent at the same time, for all applications.
const parallelLoadRequests = 256

// loadRequests are the requests to load a configuration that are in flight.
type loadRequests struct {
	mu       sync.Mutex
	underWay map[revision.LoadRequest]bool
}

// begin reports whether a request may be sent: it is not in flight yet, and not too many others are.
func (l *loadRequests) begin(request revision.LoadRequest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underWay[request] || len(l.underWay) >= parallelLoadRequests {
		return false
	}
	if l.underWay == nil {
		l.underWay = map[revision.LoadRequest]bool{}
	}
	l.underWay[request] = true
	return true
}

func (l *loadRequests) end(request revision.LoadRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.underWay, request)
}

// requestLoads authorizes pods to load what they have tested. A pod that cannot be reached gets an annotation instead
// when it is overdue. A pod that does not answer does not delay the pass.
func (r *Reconciler) requestLoads(ctx context.Context, requests []revision.LoadRequest) {
	var group sync.WaitGroup
	background := context.WithoutCancel(ctx)
	for _, request := range requests {
		if !r.loads.begin(request) {
			continue
		}
		group.Go(func() {
			defer r.loads.end(request)
			if err := r.RequestLoad(background, request.PodIP, request.Token); err != nil {
				log.FromContext(background).Info("cannot request that a pod load its configuration", "pod", request.Pod, "reason", err.Error())
			}
		})
	}
	answered := make(chan struct{})
	go func() {
		group.Wait()
		close(answered)
	}()
	timer := time.NewTimer(loadRequestWait)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	}
}
