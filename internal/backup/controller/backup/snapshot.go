package backup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// source returns the snapshot to back up. It takes one if there is none.
func (p *pass) source(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	if err := p.VerifyFresh(ctx); err != nil {
		return nil, nil, err
	}
	s, pieces, err := p.recorded(ctx)
	if err == nil && s == nil {
		return p.record(ctx)
	}
	return s, pieces, err
}

// recorded returns the snapshot of the target without its documents, or nil if there is none.
func (p *pass) recorded(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: p.backup.Namespace, Name: job.SnapshotName(p.backup)}
	if err := p.Live.Get(ctx, key, cm); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	if !jobs.Owned(cm, p.backup.UID) {
		return nil, nil, &notOwnedError{cm.Name}
	}
	s, pieces, err := job.DecodeSnapshotHeader(cm)
	return &s, pieces, err
}

// record takes a snapshot. The ConfigMap that is created last completes it.
func (p *pass) record(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	use := p.Memory.Use(p.backup.Namespace)
	defer use.Release()
	s, pieces, err := p.takeSnapshot(ctx, use)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, cm := range pieces {
		names = append(names, cm.Name)
		if err := p.Live.Create(ctx, cm); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, nil, fmt.Errorf("record the state in ConfigMap %s: %w", cm.Name, err)
		}
	}
	// The job reads the ConfigMap with the head first.
	last := len(names) - 1
	names = append([]string{names[last]}, names[:last]...)
	return &s, names, nil
}

// takeSnapshot reads the state of the target and packs it. The state can be large, but its pieces are usually small. The
// snapshot has no documents: the pieces contain them.
func (p *pass) takeSnapshot(ctx context.Context, use *controller.MemoryUse) (s snapshot.Snapshot, pieces []*corev1.ConfigMap, err error) {
	if err := use.Reserve(ctx); err != nil {
		return s, nil, err
	}
	source, err := readSource(ctx, p.Live, p.backup)
	if err != nil {
		return s, nil, err
	}
	if s, err = snapshot.Take(p.backup, source, p.Version, p.now); err != nil {
		return s, nil, &sourceError{err}
	}
	if pieces, err = job.SnapshotConfigMaps(p.backup, s); err != nil {
		return s, nil, &sourceError{err}
	}
	s.Documents = nil
	packed := 0
	for _, cm := range pieces {
		packed += cm.Size()
	}
	use.Keep(int64(packed))
	return s, pieces, nil
}

// notOwnedError reports that a ConfigMap of the snapshot's name belongs to another object.
type notOwnedError struct{ name string }

func (e *notOwnedError) Error() string {
	return fmt.Sprintf("ConfigMap %s exists and does not belong to this backup: delete it", e.name)
}

func isNotOwned(err error) bool {
	_, foreign := errors.AsType[*notOwnedError](err)
	return foreign
}
