package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/internal/kube/owned"
)

// missing returns the paths of the fields of an intent that the live object lacks, sorted; none if and only if
// contains is true. Items of a list are identified by their names.
func missing(path string, intent, live map[string]any) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(intent)) {
		if one := map[string]any{key: intent[key]}; contains(one, live) {
			continue
		}
		paths = append(paths, missingIn(strings.TrimPrefix(path+"."+key, "."), intent[key], live[key], atomicFields[key])...)
	}
	return paths
}

func missingIn(path string, want, have any, atomic bool) []string {
	switch want := want.(type) {
	case map[string]any:
		if have, ok := have.(map[string]any); ok && !atomic {
			return missing(path, want, have)
		}
	case []any:
		if have, ok := have.([]any); ok && len(have) > 0 {
			return missingItems(path, want, have)
		}
	}
	return []string{path}
}

func missingItems(path string, want, have []any) []string {
	var paths []string
	for _, item := range want {
		ours, ok := item.(map[string]any)
		if !ok || ours["name"] == nil {
			return []string{path}
		}
		if anyContains(item, have) {
			continue
		}
		at := fmt.Sprintf("%s[%v]", path, ours["name"])
		if theirs := named(ours["name"], have); theirs != nil {
			paths = append(paths, missing(at, ours, theirs)...)
		} else {
			paths = append(paths, at)
		}
	}
	return paths
}

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
	paths, err := differingPaths(change.Intent, fields)
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
// client since, and writing it again would not help. The record keeps such fields from counting as drift, and their
// owner is told.
func (a *Applier) reportDropped(ctx context.Context, change Change, written owned.Object, paths []string, annotations map[string]string, outcome *Outcome) error {
	told := change.Hash + " " + strings.Join(paths, " ")
	if annotations[a.settings.DroppedAnnotation] == told {
		return nil
	}
	logf.FromContext(ctx).Info("the cluster did not keep fields of an object", "object", change.Intent.Kind.Name, "objectName", change.Intent.Name, "fields", paths)
	change.Intent.Meta.ResourceVersion = nil
	change.Intent.Meta.WithUID(written.GetUID())
	change.Intent.Meta.WithAnnotations(map[string]string{a.settings.DroppedAnnotation: told})
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
