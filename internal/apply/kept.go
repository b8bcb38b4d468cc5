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

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// missing are the paths of the fields of an intent that do not stand in the live object, sorted:
// none if and only if it holds. Items of a list are told by their names.
func missing(path string, intent, live map[string]any) []string {
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(intent)) {
		if one := map[string]any{key: intent[key]}; holds(one, live) {
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
		if someHolds(item, have) {
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

// notKept are the fields that did not stand when the intent of a hash was written to an object.
func notKept(live metav1.Object, hash string) []string {
	of, paths, _ := strings.Cut(live.GetAnnotations()[naming.AnnotationNotKept], " ")
	if of != hash {
		return nil
	}
	return strings.Fields(paths)
}

// look makes sure that what was written stands, and nothing beside it where nobody else may write.
func (a *Applier) look(ctx context.Context, change Change, written observe.Object, annotations map[string]string, outcome *Outcome) error {
	fields, err := fieldsOf(written)
	if err != nil {
		return err
	}
	if additions := added(change.Intent, fields); len(additions) > 0 {
		if written, err = a.takeAway(ctx, change, written, additions); err != nil {
			return err
		}
		outcome.applied(change, written)
		if fields, err = fieldsOf(written); err != nil {
			return err
		}
	}
	paths, err := differing(change.Intent, fields)
	if err != nil || len(paths) == 0 {
		return err
	}
	outcome.notKept(change, paths)
	return a.tellNotKept(ctx, change, written, paths, annotations, outcome)
}

// fieldsOf are the fields of an object, without who has them: that is no part of an intent, and would be most of
// the work.
func fieldsOf(object observe.Object) (map[string]any, error) {
	managed := object.GetManagedFields()
	object.SetManagedFields(nil)
	defer object.SetManagedFields(managed)
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object)
}

// tellNotKept writes to an object what does not stand in it. The API server drops fields whose features are off,
// and admission webhooks change what they like: what differs right after it was written is
// nothing that somebody has changed since, and to write it again and again leads nowhere. The object
// tells of such fields, so that they are left alone, and whoever declared them is told.
func (a *Applier) tellNotKept(ctx context.Context, change Change, written observe.Object, paths []string, annotations map[string]string, outcome *Outcome) error {
	told := change.Hash + " " + strings.Join(paths, " ")
	if annotations[naming.AnnotationNotKept] == told {
		return nil
	}
	logf.FromContext(ctx).Info("not kept", "object", change.Intent.Kind.Name, "objectName", change.Intent.Name, "fields", paths)
	change.Intent.Meta.ResourceVersion = nil
	change.Intent.Meta.WithUID(written.GetUID())
	change.Intent.Meta.WithAnnotations(map[string]string{naming.AnnotationNotKept: told})
	again, err := a.applyIntent(ctx, written.GetNamespace(), change.Intent)
	if err == nil {
		outcome.applied(change, again)
	}
	return err
}

// notKept notes fields that do not stand, with the kind of their object.
func (o *Outcome) notKept(change Change, paths []string) {
	for _, path := range paths {
		o.NotKept = append(o.NotKept, change.Intent.Kind.Name+" "+path)
	}
}
