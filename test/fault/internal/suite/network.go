package suite

import (
	"io"
	"net/http"
	"sync"
	"time"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// network is the network between an operator and the pods of a run. Requests to an unreachable pod get no answer, as if a
// NetworkPolicy dropped their packets. The kubelet still delivers what pods mount.
type network struct {
	mu    sync.Mutex
	reach journey.Reach
	// first is the pod that the step is about: the first one with a request, or with an order to load.
	first string
	// restored is closed when requests without an answer end.
	restored chan struct{}
}

func newNetwork() *network {
	return &network{reach: journey.NoPod, restored: make(chan struct{})}
}

// change changes which pods are unreachable, and breaks off the requests that wait.
func (n *network) change(to journey.Reach) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.restored)
	n.reach, n.first, n.restored = to, "", make(chan struct{})
}

// wrap returns a wrapper of pods that with wraps first; nil: there is none.
func (n *network) wrap(with wrapper) wrapper {
	return func(pod string, answer http.Handler) http.Handler {
		if with != nil {
			answer = with(pod, answer)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			restored := n.drops(pod, r)
			if restored == nil {
				answer.ServeHTTP(w, r)
				return
			}
			// The server notices that the client is gone only after the request's body was read.
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
			case <-restored:
			}
			panic(http.ErrAbortHandler)
		})
	}
}

// drops returns until when a request to a pod gets no answer; nil: the pod can be reached.
func (n *network) drops(pod string, r *http.Request) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	others := n.reach == journey.OtherPods || n.reach == journey.OrdersToOthers
	if n.first == "" && (n.reach == journey.OnePod || others && ordersLoad(r)) {
		n.first = pod
	}
	if !n.unreachable(pod, r.Method) {
		return nil
	}
	return n.restored
}

// unreachable reports whether a request with a method does not reach a pod.
func (n *network) unreachable(pod, method string) bool {
	other := n.first != "" && pod != n.first
	switch n.reach {
	case journey.EveryPod:
		return true
	case journey.OnePod:
		return pod == n.first
	case journey.OtherPods:
		return other
	case journey.OrdersToOthers:
		return other && method == http.MethodPost
	case journey.NoPod:
	}
	return false
}

// outage is how much longer the checks of a run wait in whose journey pods are unreachable: the operator waits 30 s for
// them, and once more after it was killed.
const outage = 90 * time.Second
