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
	// bereft is when the object of a backup was deleted whose data stays.
	bereft map[types.NamespacedName]time.Time
}

// returning is how long a backup whose object was deleted has to come back, by a listing of the
// store, before another one takes its place. Whether it does or not, it is waited for no longer.
const returning = 10 * time.Second

// bereave notes that the object of a backup of a target was deleted.
func (r *rest) bereave(key types.NamespacedName, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bereft == nil {
		r.bereft = map[types.NamespacedName]time.Time{}
	}
	r.bereft[key] = now
}

// mourns is how much longer a deleted backup may come back; 0: there is none.
func (r *rest) mourns(key types.NamespacedName, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, bereft := r.bereft[key]
	if left := returning - now.Sub(since); bereft && left > 0 && left <= returning {
		return left
	}
	delete(r.bereft, key)
	return 0
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
	delete(r.bereft, key)
}
