package restore

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/outcome"
)

// lockRetry is the interval at which a restore checks whether the lock is free.
const lockRetry = 5 * time.Second

// locks holds the name of the restore whose pass has the lock of an application now.
type locks struct {
	mu      sync.Mutex
	holders map[types.NamespacedName]string
}

// acquire returns "" if the restore has the lock now, and otherwise the restore that has it.
func (l *locks) acquire(application types.NamespacedName, restore string) (holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder = l.holders[application]; holder != "" {
		return holder
	}
	if l.holders == nil {
		l.holders = map[types.NamespacedName]string{}
	}
	l.holders[application] = restore
	return ""
}

func (l *locks) release(application types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.holders, application)
}

// lock locks the application for this pass. Two restores at a time would write the same files. It returns the name of
// another unfinished restore of the application, or "".
func (p *pass) lock(ctx context.Context, target string) (other string, unlock func(), err error) {
	if job.DryRun(p.restore) {
		return "", func() {}, nil
	}
	application := types.NamespacedName{Namespace: p.restore.Namespace, Name: target}
	if other := p.locks.acquire(application, p.restore.Name); other != "" {
		return other, func() {}, nil
	}
	other, err = p.lockHolder(ctx, target)
	if other != "" || err != nil {
		p.locks.release(application)
		return other, func() {}, err
	}
	return "", func() { p.locks.release(application) }, nil
}

// lockHolder returns the name of another unfinished restore whose status has the target, or "". A restore writes its target
// to its status while its pass has the lock, with a client that reads its own writes.
func (p *pass) lockHolder(ctx context.Context, target string) (string, error) {
	if p.restore.Status.Target == target {
		return "", nil
	}
	list := &v1alpha1.NginxRestoreList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.restore.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.Status.Target == target && other.UID != p.restore.UID && other.DeletionTimestamp == nil && !outcome.RestoreFinished(other) && !job.DryRun(other) {
			return other.Name, nil
		}
	}
	return "", nil
}
