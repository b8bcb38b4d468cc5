package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// renewalRetryInterval is how often an application that has to wait tries again to be renewed.
const renewalRetryInterval = 15 * time.Second

// renewals give the pods of all applications the template of this release, one application at a time. A failure is
// in the history of its application and stops all further renewals, so that a bad release does not reach every
// application.
type renewals struct {
	mu sync.Mutex
	// current is the application whose pods are being renewed. It only keeps two concurrent passes from beginning with
	// one application each; a restarted operator finds it in the histories.
	current types.NamespacedName
}

// renew selects this release's template for the pods, if they can be renewed and no other application's are.
func (l *Pipeline) renew(ctx context.Context, p *pass, in revision.Input) error {
	if !renewable(p) {
		// A renewal that has begun is in the history of the application.
		l.renewals.release(p.key())
		return nil
	}
	in.Renew = true
	renewed, _, err := revision.Select(in)
	if err != nil {
		return fmt.Errorf("renew the pods: %w", err)
	}
	if renewed.Run.Hash == p.selection.Run.Hash {
		l.renewals.release(p.key())
		if renewed.Mode.Failed() || renewed.Mode == revision.Waiting {
			// It failed, or waits: the status reports it as long as renewal is requested.
			p.selection = renewed
		}
		return nil
	}
	free, err := l.acquireRenewal(ctx, p.key())
	if err != nil {
		return err
	}
	if !free {
		p.selection.RequeueAfter = rollout.Soonest(p.selection.RequeueAfter, renewalRetryInterval)
		return nil
	}
	log.FromContext(ctx).Info("renewing the pods", "template", renewed.Run.Hash, "before", p.selection.Run.Hash)
	p.selection = renewed
	return nil
}

// renewable reports whether an application is at rest, apart from a renewal.
func renewable(p *pass) bool {
	s := p.selection
	return s.Settled && s.Mode == revision.Normal && !p.suspended()
}

// acquireRenewal reports whether an application may be renewed now. It reads the histories only after the
// reservation, because an application that has finished is recorded there.
func (l *Pipeline) acquireRenewal(ctx context.Context, key types.NamespacedName) (bool, error) {
	if !l.renewals.tryAcquire(key) {
		return false, nil
	}
	free, err := l.noUnfinishedRenewal(ctx)
	if !free || err != nil {
		l.renewals.release(key)
	}
	return free, err
}

func (w *renewals) tryAcquire(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current.Name != "" && w.current != key {
		return false
	}
	w.current = key
	return true
}

// release lets another application be renewed.
func (w *renewals) release(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current == key {
		w.current = types.NamespacedName{}
	}
}

// noUnfinishedRenewal reports whether no renewal is in progress and none has failed.
func (l *Pipeline) noUnfinishedRenewal(ctx context.Context) (bool, error) {
	list := &appsv1.ControllerRevisionList{}
	if err := l.Histories.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list all histories: %w", err)
	}
	h := history.Read(list.Items)
	for i := range h {
		if h[i].OfOperator() && h[i].RollingOutOrFailed() {
			return false, nil
		}
	}
	return true, nil
}
