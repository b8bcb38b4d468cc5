// Package apply brings owned objects to what they should be. It knows no kind of owner: Settings say how an
// operator marks what it writes.
//
// Every write is a server-side apply by one field manager. Nothing is sent if nothing differs: an object is left
// alone if the hash of its intent, kept in an annotation, is unchanged and the live object still has every field of
// the intent. Both are read from the cluster, so this also holds right after a restart.
//
// A create must not adopt an object that the operator's label-filtered caches do not show. Server-side apply has no
// create-only flag, but a resourceVersion acts as one: the API server ignores it if no object exists, and answers 409
// if one does, because it never matches. In the same way, an update carries the UID of the object that it was decided
// for.
package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Applier writes to the cluster.
type Applier struct {
	client client.Client
	// live reads past the caches, which show the operator's own objects only.
	live     client.Reader
	settings Settings
	// keepsImages is true as soon as the API server has shown that it keeps the images of volumes.
	keepsImages *atomic.Bool
}

// New returns an Applier that writes with c and reads foreign objects with live.
func New(c client.Client, live client.Reader, settings Settings) *Applier {
	return &Applier{client: c, live: live, settings: settings, keepsImages: &atomic.Bool{}}
}

// With returns an Applier with other settings, which shares what is known of the API server.
func (a *Applier) With(settings Settings) *Applier {
	other := *a
	other.settings = settings
	return &other
}

// Apply makes the changes in their order. It goes on after a failure, so that one object that fails does not hold
// back the others, except for those that require it. Errors that the user has to fix are in the outcome; the
// error holds those that a retry may fix.
func (a *Applier) Apply(ctx context.Context, owner metav1.Object, changes []Change, outcome *Outcome) error {
	var errs []error
	for _, change := range changes {
		if outcome.AnyFailed(change.Intent.Kind.Requires...) {
			continue
		}
		if err := a.execute(ctx, owner, change, outcome); err != nil {
			errs = append(errs, fmt.Errorf("%s %s %s: %w", change.Action, change.Intent.Kind.Name, change.Intent.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (a *Applier) execute(ctx context.Context, owner metav1.Object, change Change, outcome *Outcome) error {
	switch change.Action {
	case Leave:
		outcome.addDropped(change, change.DroppedFields)
		return nil
	case Wait:
		outcome.fail(change)
		outcome.AwaitingDeletion = cmp.Or(outcome.AwaitingDeletion, a.settings.awaitingDeletion(change))
		return nil
	case Conflict:
		outcome.fail(change)
		outcome.Refuse(a.settings.conflict(change.Intent, owner))
		outcome.Retry = true
		return nil
	case Create, Update, Heal, Delete, Recreate, Relabel:
	}
	err := a.send(ctx, owner, change, outcome)
	if apierrors.IsConflict(err) && change.Action == Create {
		err = a.reclaim(ctx, owner, change, outcome)
	}
	if err == nil {
		a.settings.Written(change.Intent.Kind.Name, change.Action)
		logChange(logf.FromContext(ctx), change)
		if change.Action == Recreate {
			// What it does is not done until it is there again.
			outcome.fail(change)
			outcome.AwaitingDeletion = cmp.Or(outcome.AwaitingDeletion, change.Intent.Kind.Name+" "+change.Intent.Name+" is created again, because fields of it cannot be changed; its pods stay")
		}
		return nil
	}
	if apierrors.IsConflict(err) && slices.Contains([]Action{Delete, Recreate, Relabel}, change.Action) {
		// Another client, such as a controller that writes status, was faster. This is not worth reporting.
		return err
	}
	outcome.fail(change)
	err = a.classifyError(change, err, owner, outcome)
	if len(outcome.Failed) == 1 {
		outcome.FirstFailure = err
	}
	return err
}

// send makes the write of a change.
func (a *Applier) send(ctx context.Context, owner metav1.Object, change Change, outcome *Outcome) error {
	switch change.Action {
	case Delete:
		return a.delete(ctx, change)
	case Recreate:
		return a.recreate(ctx, change)
	case Relabel:
		outcome.Relabelled = true
		return a.RestoreLabel(ctx, owner, change.Intent.Kind.GVK, change.Live)
	default:
		return a.write(ctx, owner, change, outcome)
	}
}

func logChange(log logr.Logger, change Change) {
	log.Info("applied", "action", change.Action, "object", change.Intent.Kind.Name, "objectName", change.Intent.Name)
}
