package purgecontroller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/internal/instanceapi"
)

// answers are the last answers of the pods of each cache. What a pod has carried out stays so for as long as the pod
// exists, and what it takes to send it an order usually does. So most purges take one request to each pod. It is safe for
// concurrent use.
type answers struct {
	mu     sync.Mutex
	caches map[types.NamespacedName]map[types.UID]answer
}

type answer struct {
	number int64
	orders instanceapi.Orders
	at     time.Time
}

// of returns the last answer of a pod, with its uptime as it is now.
func (a *answers) of(cache types.NamespacedName, pod types.UID, now time.Time) (answer, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.caches[cache][pod]
	last.orders.Uptime += now.Sub(last.at).Milliseconds()
	last.at = now
	return last, ok
}

// keep replaces the answers of the pods of a cache.
func (a *answers) keep(cache types.NamespacedName, pods []*pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := map[types.UID]answer{}
	for _, p := range pods {
		if p.orders != nil {
			kept[p.uid] = answer{p.Number, *p.orders, p.at}
		}
	}
	if a.caches == nil {
		a.caches = map[types.NamespacedName]map[types.UID]answer{}
	}
	a.caches[cache] = kept
}

// forget drops the answers of the pods of a cache.
func (a *answers) forget(cache types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.caches, cache)
}
