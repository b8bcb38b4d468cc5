package backup

import (
	"context"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/progress"
)

// queue bounds how many jobs there are at a time: hundreds of applications may change within
// the same second. Whoever comes too late waits in line, and is woken when a job has ended.
//
// It is in memory, since a restarted operator looks at every backup again anyway.
type queue struct {
	jobs  client.Reader
	limit int
	clock clock.PassiveClock
	// wake lets a backup be looked at again.
	wake func(types.NamespacedName)

	mu   sync.Mutex
	line []types.NamespacedName
	// starting is how many jobs are being created.
	starting int
}

// start starts a job for a backup, unless there are too many: then the backup is in the line.
func (q *queue) start(ctx context.Context, backup types.NamespacedName, create func() error) (started bool, err error) {
	if !q.enter(ctx, backup) {
		return false, nil
	}
	err = create()
	q.mu.Lock()
	q.starting--
	q.mu.Unlock()
	if err != nil {
		// The place is free again.
		q.ended()
	}
	return true, err
}

func (q *queue) enter(ctx context.Context, backup types.NamespacedName) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.active(ctx)+q.starting >= q.limit {
		if !slices.Contains(q.line, backup) {
			q.line = append(q.line, backup)
		}
		return false
	}
	q.starting++
	q.drop(backup)
	return true
}

// active counts the jobs that do something: those of one namespace whose pods cannot start
// must not keep all others waiting.
func (q *queue) active(ctx context.Context) int {
	list := &batchv1.JobList{}
	if err := q.jobs.List(ctx, list, client.HasLabels{v1alpha1.LabelBackup}, client.UnsafeDisableDeepCopy); err != nil {
		// The cache is in memory: this is an error of the program.
		log.FromContext(ctx).Error(err, "count the jobs")
		return q.limit
	}
	n, now := 0, q.clock.Now()
	for i := range list.Items {
		if progress.Busy(&list.Items[i], now) {
			n++
		}
	}
	return n
}

// leave forgets a backup.
func (q *queue) leave(backup types.NamespacedName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(backup)
}

func (q *queue) drop(backup types.NamespacedName) {
	q.line = slices.DeleteFunc(q.line, func(other types.NamespacedName) bool { return other == backup })
}

// ended wakes the first of the line: a job has ended, or does nothing.
func (q *queue) ended() {
	q.mu.Lock()
	var first *types.NamespacedName
	if len(q.line) > 0 {
		first, q.line = &q.line[0], q.line[1:]
	}
	q.mu.Unlock()
	if first != nil {
		q.wake(*first)
	}
}
