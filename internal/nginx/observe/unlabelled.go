package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/pages"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
)

// maxHash bounds what is kept of a hash that another client may have written, in bytes.
const maxHash = 128

// unlabelled finds the workload and the history of an application if they have lost the label by which the
// caches find them. Without its workload, an application looks like a new one, which gets the pods of this
// release in the number of the spec; without its history, like one that has never run.
//
// It queries the API server only if something is missing that existed before.
func (o *Observer) unlabelled(ctx context.Context, app *application.Application, state *State) error {
	workload := state.Workload()
	recorded := func(r history.Revision) bool { return r.Template == state.LiveTemplate() }
	switch {
	case workload == nil && len(state.History) > 0:
		return o.unlabelledWorkload(ctx, app, state)
	case workload != nil && metav1.IsControlledBy(workload.Object, app) && !slices.ContainsFunc(state.History, recorded):
		return o.unlabelledHistory(ctx, app, state)
	}
	return nil
}

func (o *Observer) unlabelledWorkload(ctx context.Context, app *application.Application, state *State) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(app.Workload()))
	err := o.live.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: naming.Workload(app.Name)}, live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the %s: %w", app.Workload(), err)
	}
	if lacksLabel(app, live) {
		state.Unlabelled = append(state.Unlabelled, live)
	}
	return nil
}

// unlabelledHistory reads the metadata of all ControllerRevisions of the namespace, because it cannot know
// their names. It keeps only what restores the label, because anyone in the namespace can create more of them.
func (o *Observer) unlabelledHistory(ctx context.Context, app *application.Application, state *State) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(history.Kind + "List"))
	err := pages.Of(o.live)(ctx, list, func() error {
		for i := range list.Items {
			if live := &list.Items[i]; lacksLabel(app, live) {
				state.Unlabelled = append(state.Unlabelled, identity(live))
			}
		}
		return nil
	}, client.InNamespace(app.Namespace))
	if err != nil {
		return fmt.Errorf("look for the history: %w", err)
	}
	return nil
}

// identity returns a ControllerRevision with what apply.RestoreLabel reads: its identity, and whether the operator wrote it.
func identity(live *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	revision := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: live.Namespace, Name: live.Name, UID: live.UID, ResourceVersion: live.ResourceVersion,
	}}
	revision.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(history.Kind))
	if hash := live.Annotations[naming.AnnotationIntent]; hash != "" {
		revision.Annotations = map[string]string{naming.AnnotationIntent: strings.Clone(hash[:min(len(hash), maxHash)])}
	}
	return revision
}

// lacksLabel reports whether a live object belongs to an application and the caches cannot find it. An owner may have
// several applications, whose objects are told apart by their names.
func lacksLabel(app *application.Application, live *metav1.PartialObjectMetadata) bool {
	return live.DeletionTimestamp == nil && strings.HasPrefix(live.Name, app.Name) && live.Labels[naming.LabelApplication] != app.Name && metav1.IsControlledBy(live, app)
}
