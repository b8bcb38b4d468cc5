package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

var (
	deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")
	revisions   = appsv1.SchemeGroupVersion.WithKind(desired.HistoryKind)
)

// Relabel gives the label by which the caches find them back to the Deployment and the history of an application. It has
// to come before anything is planned: without its Deployment an application looks as one that has none yet, which gets
// the pods of this release, in the number of the spec; without its history, as one that never was anything.
//
// It tells whether something lacked it, which comes by the watch then. The API server is asked only where something is
// missing that there has been.
func (a *Applier) Relabel(ctx context.Context, nginx *v1alpha2.NginxOperator, state observe.State) (bool, error) {
	switch live := state.Deployment(); {
	case live == nil && len(state.History) > 0:
		found, err := a.find(ctx, nginx, deployments, naming.Deployment(nginx.Name))
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return a.giveLabel(ctx, nginx, deployments, found)
	case live != nil && desired.IsControlledBy(live, nginx) && !recorded(state.History, state.LiveTemplate()):
		return a.relabelHistory(ctx, nginx)
	}
	return false, nil
}

func recorded(h history.History, template string) bool {
	return slices.ContainsFunc(h, func(r history.Revision) bool { return r.Template == template })
}

// relabelHistory looks at all that is there: it cannot know the names.
func (a *Applier) relabelHistory(ctx context.Context, nginx *v1alpha2.NginxOperator) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(revisions.GroupVersion().WithKind(revisions.Kind + "List"))
	if err := a.live.List(ctx, list, client.InNamespace(nginx.Namespace)); err != nil {
		return false, fmt.Errorf("look for the history: %w", err)
	}
	found := false
	for i := range list.Items {
		lacked, err := a.giveLabel(ctx, nginx, revisions, &list.Items[i])
		if err != nil {
			return false, err
		}
		found = found || lacked
	}
	return found, nil
}

// find reads the metadata of an object past the caches.
func (a *Applier) find(ctx context.Context, nginx *v1alpha2.NginxOperator, kind schema.GroupVersionKind, name string) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	if err := a.live.Get(ctx, types.NamespacedName{Namespace: nginx.Namespace, Name: name}, live); err != nil {
		return nil, fmt.Errorf("look for %s %s: %w", kind.Kind, name, err)
	}
	return live, nil
}

// giveLabel tells whether an object is of the application, and lacked the label.
func (a *Applier) giveLabel(ctx context.Context, nginx *v1alpha2.NginxOperator, kind schema.GroupVersionKind, live *metav1.PartialObjectMetadata) (bool, error) {
	if live.DeletionTimestamp != nil || live.Labels[naming.LabelApplication] == nginx.Name || !metav1.IsControlledBy(live, nginx) {
		return false, nil
	}
	metadata := map[string]any{"uid": live.UID, "resourceVersion": live.ResourceVersion, "labels": naming.Labels(nginx.Name)}
	if live.Annotations[naming.AnnotationIntent] != "" {
		// The next pass makes the label the operator's by apply.
		metadata["annotations"] = map[string]string{naming.AnnotationIntent: replaced}
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return false, err
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(live.Namespace)
	object.SetName(live.Name)
	// The caches do not show it, so no read may wait for what is written here.
	err = a.client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(naming.FieldManager), client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("label %s %s: %w", kind.Kind, live.Name, err)
	}
	logf.FromContext(ctx).Info("labelled", "object", kind.Kind, "objectName", live.Name)
	return true, nil
}
