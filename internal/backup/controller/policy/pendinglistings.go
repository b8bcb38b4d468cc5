package policy

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// pendingListings records the policies whose destinations have to be listed because the object of a
// backup was deleted. It is in memory: after a restart, the next periodic listing finds the data.
type pendingListings struct {
	mu    sync.Mutex
	noted map[types.NamespacedName]bool
}

func (d *pendingListings) note(policy types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noted == nil {
		d.noted = map[types.NamespacedName]bool{}
	}
	d.noted[policy] = true
}

func (d *pendingListings) has(policy types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.noted[policy]
}

// take removes a policy, and reports whether it was recorded.
func (d *pendingListings) take(policy types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	noted := d.noted[policy]
	delete(d.noted, policy)
	return noted
}
