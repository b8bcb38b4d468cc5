package nginxoperator

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/backup/plan"
)

// settleTracker records since when each application has had its current state. It is in memory:
// after a restart, each application has to settle once more.
type settleTracker struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]plan.Target
	// backupDeletedAt is when the object of a backup was deleted whose data remains.
	backupDeletedAt map[types.NamespacedName]time.Time
}

// reimportGracePeriod is how long a new backup waits for a listing to import a deleted one again, so
// that it does not take its place.
const reimportGracePeriod = 10 * time.Second

// noteBackupDeleted records that the object of a backup of a target was deleted.
func (r *settleTracker) noteBackupDeleted(key types.NamespacedName, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.backupDeletedAt == nil {
		r.backupDeletedAt = map[types.NamespacedName]time.Time{}
	}
	r.backupDeletedAt[key] = now
}

// reimportLeft returns the rest of the reimport window; 0: none is open.
func (r *settleTracker) reimportLeft(key types.NamespacedName, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, deleted := r.backupDeletedAt[key]
	if left := reimportGracePeriod - now.Sub(since); deleted && left > 0 && left <= reimportGracePeriod {
		return left
	}
	delete(r.backupDeletedAt, key)
	return 0
}

// observe returns the target with the times since when it has had its state.
func (r *settleTracker) observe(target plan.Target, now time.Time) plan.Target {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[types.NamespacedName]plan.Target{}
	}
	key := client.ObjectKeyFromObject(target.Nginx)
	before, known := r.seen[key]
	target.Since, target.Unsettled = now, before.Unsettled
	if known && before.UID == target.Nginx.UID && before.State == target.State {
		target.Since = before.Since
	}
	if target.Unsettled.IsZero() {
		target.Unsettled = now
	}
	target.UID = target.Nginx.UID
	kept := target
	kept.Nginx = nil
	r.seen[key] = kept
	return target
}

// markSettled records that backups hold the current state of a target: the next change starts a new
// period.
func (r *settleTracker) markSettled(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if target, known := r.seen[key]; known {
		target.Unsettled = time.Time{}
		r.seen[key] = target
	}
}

func (r *settleTracker) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.seen, key)
	delete(r.backupDeletedAt, key)
}
