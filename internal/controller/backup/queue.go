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
		q.move(ctx)
	}
	return true, err
}

func (q *queue) enter(ctx context.Context, backup types.NamespacedName) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free(q.active(ctx)) <= 0 {
		if !slices.Contains(q.line, backup) {
			q.line = append(q.line, backup)
		}
		return false
	}
	q.starting++
	q.drop(backup)
	return true
}

func (q *queue) free(active map[string]int) int {
	free := q.limit - q.starting
	for _, n := range active {
		free -= n
	}
	return free
}

// active counts the jobs of each namespace that do something: those of one whose pods cannot
// start must not keep all others waiting.
func (q *queue) active(ctx context.Context) map[string]int {
	list := &batchv1.JobList{}
	if err := q.jobs.List(ctx, list, client.HasLabels{v1alpha1.LabelBackup}, client.UnsafeDisableDeepCopy); err != nil {
		// The cache is in memory: this is an error of the program.
		log.FromContext(ctx).Error(err, "count the jobs")
		return map[string]int{"": q.limit}
	}
	active, now := map[string]int{}, q.clock.Now()
	for i := range list.Items {
		if progress.Busy(&list.Items[i], now) {
			active[list.Items[i].Namespace]++
		}
	}
	return active
}

// leave forgets a backup. If it was just woken, its turn is another's.
func (q *queue) leave(ctx context.Context, backup types.NamespacedName) {
	q.mu.Lock()
	q.drop(backup)
	q.mu.Unlock()
	q.move(ctx)
}

func (q *queue) drop(backup types.NamespacedName) {
	q.line = slices.DeleteFunc(q.line, func(other types.NamespacedName) bool { return other == backup })
}

// move wakes as many of the line as there is room for: a job has ended, or does nothing. First
// come those of the namespaces that have the fewest jobs.
func (q *queue) move(ctx context.Context) {
	for _, backup := range q.next(ctx) {
		q.wake(backup)
	}
}

func (q *queue) next(ctx context.Context) []types.NamespacedName {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.line) == 0 {
		return nil
	}
	active := q.active(ctx)
	var woken []types.NamespacedName
	for free := q.free(active); free > 0 && len(q.line) > 0; free-- {
		first := slices.MinFunc(q.line, func(a, b types.NamespacedName) int { return active[a.Namespace] - active[b.Namespace] })
		woken = append(woken, first)
		active[first.Namespace]++
		q.drop(first)
	}
	return woken
}
