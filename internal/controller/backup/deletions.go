package backup

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/plan"
)

// deletions remembers the policies whose destinations have to be listed, since the object of a
// backup was deleted. It is in memory: after a restart the next listing makes up for it.
type deletions struct {
	mu    sync.Mutex
	noted map[types.NamespacedName]bool
}

func (d *deletions) note(policy types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.noted == nil {
		d.noted = map[types.NamespacedName]bool{}
	}
	d.noted[policy] = true
}

func (d *deletions) seen(policy types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.noted[policy]
}

// take forgets a policy, and tells whether it was noted.
func (d *deletions) take(policy types.NamespacedName) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	noted := d.noted[policy]
	delete(d.noted, policy)
	return noted
}

// leavesData tells whether there may be data of a backup when its object is gone.
func leavesData(b *v1alpha1.NginxBackup) bool {
	return b.Spec.DeletionPolicy != v1alpha1.Delete && (b.Status.StartTime != nil || plan.Written(b)) && !plan.Lost(b)
}
