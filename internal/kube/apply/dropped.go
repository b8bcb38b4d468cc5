package apply

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/kube/owned"
)

// droppedFields returns the fields that did not stand when the intent of a hash was written to an object.
func (s Settings) droppedFields(live metav1.Object, hash string) []string {
	of, paths, _ := strings.Cut(live.GetAnnotations()[s.DroppedAnnotation], " ")
	if of != hash {
		return nil
	}
	return strings.Fields(paths)
}

// verifyWritten makes sure that the written fields are kept, and that exclusive paths have no others.
func (a *Applier) verifyWritten(ctx context.Context, change Change, written owned.Object, annotations map[string]string, outcome *Outcome) error {
	fields, err := fieldsOf(written)
	if err != nil {
		return err
	}
	if additions := added(change.Intent, fields); len(additions) > 0 {
		if written, err = a.removeAdded(ctx, change, written, additions); err != nil {
			return err
		}
		outcome.applied(change, written)
		if fields, err = fieldsOf(written); err != nil {
			return err
		}
	}
	paths, err := driftedFields(change.Intent, fields)
	if err != nil || len(paths) == 0 {
		return err
	}
	outcome.addDropped(change, paths)
	return a.reportDropped(ctx, change, written, paths, annotations, outcome)
}

// fieldsOf returns the fields of an object without managedFields, which are no part of an intent and would be most of
// the work.
func fieldsOf(object owned.Object) (map[string]any, error) {
	managed := object.GetManagedFields()
	object.SetManagedFields(nil)
	defer object.SetManagedFields(managed)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}

// reportDropped records in an object the fields that it did not keep. The API server drops fields whose features are
// off, and admission webhooks change others. A field that differs right after a write was not changed by another
// client since, and writing it again would not help. The record keeps such fields from counting as drift, and the
// outcome reports them.
func (a *Applier) reportDropped(ctx context.Context, change Change, written owned.Object, paths []string, annotations map[string]string, outcome *Outcome) error {
	record := change.Hash + " " + strings.Join(paths, " ")
	if annotations[a.settings.DroppedAnnotation] == record {
		return nil
	}
	logf.FromContext(ctx).Info("the cluster did not keep fields of an object", "object", change.Intent.Kind.Name, "objectName", change.Intent.Name, "fields", paths)
	change.Intent.Meta.ResourceVersion = nil
	change.Intent.Meta.WithUID(written.GetUID())
	change.Intent.Meta.WithAnnotations(map[string]string{a.settings.DroppedAnnotation: record})
	again, err := a.applyIntent(ctx, written.GetNamespace(), change.Intent)
	if err == nil {
		outcome.applied(change, again)
	}
	return err
}

// addDropped notes fields that are not kept, with the kind of their object.
func (o *Outcome) addDropped(change Change, paths []string) {
	for _, path := range paths {
		o.DroppedFields = append(o.DroppedFields, change.Intent.Kind.Name+" "+path)
	}
}
