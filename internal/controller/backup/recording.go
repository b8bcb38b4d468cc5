package backup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// source is the snapshot that is backed up: the one that was taken, or one of now.
func (w *work) source(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	if err := w.current(ctx); err != nil {
		return nil, nil, err
	}
	s, pieces, err := w.recorded(ctx)
	if err == nil && s == nil {
		return w.record(ctx)
	}
	return s, pieces, err
}

// recorded is the snapshot that was taken of the target, without its documents; nil: none.
func (w *work) recorded(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: w.backup.Namespace, Name: job.SnapshotName(w.backup)}
	if err := w.Live.Get(ctx, key, cm); err != nil {
		return nil, nil, client.IgnoreNotFound(err)
	}
	if !owned(cm, w.backup.UID) {
		return nil, nil, &foreignError{cm.Name}
	}
	s, pieces, err := job.ReadHead(cm)
	return &s, pieces, err
}

// record takes a snapshot. The ConfigMap that is created last makes it whole.
func (w *work) record(ctx context.Context) (*snapshot.Snapshot, []string, error) {
	s, pieces, err := w.take(ctx)
	if err != nil {
		return nil, nil, err
	}
	var names []string
	for _, cm := range pieces {
		names = append(names, cm.Name)
		if err := w.Live.Create(ctx, cm); err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, nil, fmt.Errorf("record the state in ConfigMap %s: %w", cm.Name, err)
		}
	}
	// The one with the head comes first for the job.
	last := len(names) - 1
	names = append([]string{names[last]}, names[:last]...)
	return &s, names, nil
}

// take reads the state of the target and packs it. One at a time: of what can be large, not
// much shall be in memory.
func (w *work) take(ctx context.Context) (s snapshot.Snapshot, pieces []*corev1.ConfigMap, err error) {
	w.taking.Lock()
	defer w.taking.Unlock()
	source, err := gather(ctx, w.Live, w.backup)
	if err != nil {
		return s, nil, err
	}
	if s, err = snapshot.Take(w.backup, source, w.Version, w.now); err != nil {
		return s, nil, &sourceError{err}
	}
	if pieces, err = job.Pieces(w.backup, s); err != nil {
		return s, nil, &sourceError{err}
	}
	return s, pieces, nil
}

// foreignError tells of a ConfigMap whose name a snapshot needs.
type foreignError struct{ name string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("ConfigMap %s exists and does not belong to this backup: delete it", e.name)
}

func isForeign(err error) bool {
	_, foreign := errors.AsType[*foreignError](err)
	return foreign
}
