package backup

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/backup/plan"
)

// rest remembers since when applications have been as they are. It is in memory: after a
// restart they have to be at rest once more.
type rest struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]plan.Target
}

// see completes what is known of a target.
func (r *rest) see(target plan.Target, now time.Time) plan.Target {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[types.NamespacedName]plan.Target{}
	}
	key := client.ObjectKeyFromObject(target.Nginx)
	before, known := r.seen[key]
	target.Since, target.Restless = now, before.Restless
	if known && before.UID == target.Nginx.UID && before.State == target.State {
		target.Since = before.Since
	}
	if target.Restless.IsZero() {
		target.Restless = now
	}
	target.UID = target.Nginx.UID
	kept := target
	kept.Nginx = nil
	r.seen[key] = kept
	return target
}

// settled notes that backups hold a target as it is: what changes later is a new unrest.
func (r *rest) settled(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if target, known := r.seen[key]; known {
		target.Restless = time.Time{}
		r.seen[key] = target
	}
}

func (r *rest) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
}
