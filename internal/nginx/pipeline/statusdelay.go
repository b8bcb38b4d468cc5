package pipeline

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// statusDelayed is how long the status of an application waits for the answers to orders. Most changes are live sooner,
// and then the status is written once instead of for each step.
const statusDelayed = time.Second

// statusDelay remembers since when the status of an application waits.
type statusDelay struct {
	mu    sync.Mutex
	since map[types.NamespacedName]time.Time
}

// holds reports whether the status of an application is not to be written yet. waiting reports whether answers are due.
func (d *statusDelay) holds(key types.NamespacedName, waiting bool, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !waiting {
		delete(d.since, key)
		return false
	}
	if d.since == nil {
		d.since = map[types.NamespacedName]time.Time{}
	}
	if _, ok := d.since[key]; !ok {
		d.since[key] = now
	}
	return now.Sub(d.since[key]) < statusDelayed
}

func (d *statusDelay) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, key)
}
