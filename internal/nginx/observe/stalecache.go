package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/kube/pages"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
)

// verifySpecFresh returns owned.ErrStaleCache if the cache shows an older spec than one that objects were already
// written for. An operator that has just started may read from an API server that lags behind, and would
// apply what was requested some time ago.
//
// It queries the API server only if an object says so, because any client can write to the object.
func (o *Observer) verifySpecFresh(ctx context.Context, app *application.Application, state *State) error {
	if state.writtenFor(app) <= app.Generation {
		return nil
	}
	// The operator may list its owners, for the watches, and needs no other right for this.
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(app.Owner.GVK.GroupVersion().WithKind(app.Owner.GVK.Kind + "List"))
	err := o.live.List(ctx, list, client.InNamespace(app.Namespace), client.MatchingFields{metav1.ObjectNameField: app.Owner.Name})
	if err != nil {
		return fmt.Errorf("read the newest spec: %w", err)
	}
	for i := range list.Items {
		now := &list.Items[i]
		if now.UID == app.UID && now.Generation > app.Generation {
			return fmt.Errorf("%w: objects were written for generation %d of the spec, not for %d", owned.ErrStaleCache, now.Generation, app.Generation)
		}
	}
	return nil
}

// writtenFor is the newest generation of an application that one of its objects was written for; 0:
// none tells.
func (s State) writtenFor(app *application.Application) int64 {
	newest := int64(0)
	for _, object := range s.Owned {
		generation, err := strconv.ParseInt(object.GetAnnotations()[naming.AnnotationGeneration], 10, 64)
		if err == nil && metav1.IsControlledBy(object, app) {
			newest = max(newest, generation)
		}
	}
	return newest
}

// VerifyHistoryFresh returns owned.ErrStaleCache if the API server has a newer history than the state. From an older
// one, which an operator that has just started may see, a rollout that failed would be tried again.
//
// It costs a request, so call it only before pods get something else. A revision of the state that the API
// server does not list proves nothing: another client may have changed the label that it is listed by.
func (o *Observer) VerifyHistoryFresh(ctx context.Context, app *application.Application, known history.History) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(history.Kind + "List"))
	err := pages.Of(o.live)(ctx, list, func() error {
		for i := range list.Items {
			live := &list.Items[i].ObjectMeta
			if metav1.IsControlledBy(live, app) && !slices.ContainsFunc(known, func(r history.Revision) bool { return r.IsAs(live) }) {
				return fmt.Errorf("%w: ControllerRevision %s has changed", owned.ErrStaleCache, live.Name)
			}
		}
		return nil
	}, client.InNamespace(app.Namespace), client.MatchingLabels{naming.LabelApplication: app.Name})
	if err != nil && !errors.Is(err, owned.ErrStaleCache) {
		return fmt.Errorf("read the history: %w", err)
	}
	return err
}
