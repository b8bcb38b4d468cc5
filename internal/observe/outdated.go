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

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
)

// ErrBehind tells that what the caches show is not all there is. It passes: they catch up.
var ErrBehind = errors.New("the caches lag behind")

// Outdated tells whether the cache shows an earlier spec than one that objects were written for
// already. An operator that has just started may read from an API server that lags behind; what it
// would write is what was asked for some time ago.
//
// The API server itself is asked only where an object says so, since anybody can write to it.
func (o *Observer) Outdated(ctx context.Context, nginx *v1alpha2.NginxOperator, state State) (bool, error) {
	if state.writtenFor(nginx) <= nginx.Generation {
		return false, nil
	}
	now := &v1alpha2.NginxOperator{}
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(nginx), now); err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("read the newest spec: %w", err))
	}
	return now.UID == nginx.UID && now.Generation > nginx.Generation, nil
}

// writtenFor is the newest generation of an application that one of its objects was written for; 0:
// none tells.
func (s State) writtenFor(nginx *v1alpha2.NginxOperator) int64 {
	newest := int64(0)
	for _, object := range s.Owned {
		generation, err := strconv.ParseInt(object.GetAnnotations()[naming.AnnotationGeneration], 10, 64)
		if err == nil && metav1.IsControlledBy(object, nginx) {
			newest = max(newest, generation)
		}
	}
	return newest
}

// Remembers makes sure that a history is what there is. From an older one, which an operator may see that
// has just started, a rollout would be tried again that has failed.
//
// It costs a request, and is for the moment before pods are given something else. That one is shown which
// is gone proves nothing: somebody may have changed the label by which it is found here.
func (o *Observer) Remembers(ctx context.Context, nginx *v1alpha2.NginxOperator, known history.History) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	err := o.live.List(ctx, list, client.InNamespace(nginx.Namespace), client.MatchingLabels{naming.LabelApplication: nginx.Name})
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	for i := range list.Items {
		live := &list.Items[i].ObjectMeta
		if metav1.IsControlledBy(live, nginx) && !slices.ContainsFunc(known, func(r history.Revision) bool { return r.IsAs(live) }) {
			return fmt.Errorf("%w: ControllerRevision %s has changed", ErrBehind, live.Name)
		}
	}
	return nil
}
