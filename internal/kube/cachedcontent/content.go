// Package cachedcontent bounds the content of the objects that are cached.
package cachedcontent

import (
	"crypto/rand"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/kube/budget"
)

// annotationNotCached says of an object why its content is not in the cache. It is in the cache only. Its end is random, so no
// user can set it.
var annotationNotCached = "operator.example.com/not-cached-" + rand.Text()

// TooLarge says that the object alone is too large.
const TooLarge budget.Excess = "TooLarge"

// Content bounds the content of cached objects. Anyone in a namespace can create objects that a cache selects by their labels,
// and can give them any owner. So objects of other owners are cached without their content, and a namespace has a budget for
// the rest. It is safe for concurrent use.
type Content struct {
	owners map[schema.GroupKind]bool
	labels []string
}

// New returns the bounds for objects whose controllers are of some kinds. labels are those that an object keeps without its
// content.
func New(labels []string, owners ...schema.GroupKind) *Content {
	c := &Content{owners: map[schema.GroupKind]bool{}, labels: labels}
	for _, owner := range owners {
		c.owners[owner] = true
	}
	return c
}

// OfOwners returns a transformation that applies transform to the objects of the owners, and removes the content of all others.
func (c *Content) OfOwners(transform toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if object, ok := obj.(client.Object); ok && !c.owned(object) {
			return c.bare(object, ""), nil
		}
		return transform(obj)
	}
}

// UpTo returns a transformation like another one, which also removes the content of an object that takes more than a number of
// bytes then. A Reader reads such an object from the API server.
func (c *Content) UpTo(bytes int, transform toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		obj, err := transform(obj)
		if object, ok := obj.(client.Object); ok && err == nil && boundedjson.Size(obj) > bytes {
			return c.bare(object, TooLarge), nil
		}
		return obj, err
	}
}

// Allowance is what the objects of a kind may take of a budget. Objects of up to Free bytes take nothing of it.
type Allowance struct {
	// Kind is the kind of the objects. Each cache of a budget has another one, because a cache releases what it charged.
	Kind   string
	Budget *budget.Budget
	Free   int
}

// Within returns a transformation like another one, which also removes the content that exceeds the budget of its namespace.
// A Reader reads such an object from the API server.
func (c *Content) Within(a Allowance, transform toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		object, ok := obj.(client.Object)
		if !ok {
			return transform(obj)
		}
		if !IsCached(object) {
			// client-go can transform an object again.
			return c.bare(object, NotCached(object)), nil
		}
		item := budget.Item{Kind: a.Kind, UID: object.GetUID()}
		obj, err := transform(obj)
		if err != nil {
			return obj, err
		}
		size := boundedjson.Size(obj)
		if size <= a.Free {
			a.Budget.Release(object.GetNamespace(), item)
			return obj, nil
		}
		if excess := a.Budget.KeepVersion(object.GetNamespace(), item, object.GetResourceVersion(), int64(size)); excess != "" {
			return c.bare(object, excess), nil
		}
		return obj, nil
	}
}

// Deleted returns a handler that gives back what deleted objects took. Register it at the informer of the kind. An object whose
// label was removed and added again may already be in the cache with a later version, because handlers run late.
func (a Allowance) Deleted() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			old, _ := before.(client.Object)
			if now, ok := after.(client.Object); ok && old != nil && old.GetUID() != now.GetUID() {
				// The object was created again while nothing watched it.
				a.release(old)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
				if object, ok := obj.(client.Object); ok {
					// A list that failed later on may have charged another version.
					a.release(object)
				}
				return
			}
			if object, ok := obj.(client.Object); ok {
				a.Budget.ReleaseVersion(object.GetNamespace(), budget.Item{Kind: a.Kind, UID: object.GetUID()}, object.GetResourceVersion())
			}
		},
	}
}

// release gives back what any version of an object took.
func (a Allowance) release(object client.Object) {
	a.Budget.Release(object.GetNamespace(), budget.Item{Kind: a.Kind, UID: object.GetUID()})
}

// Release gives back what all objects of the kind took, when their cache has ended.
func (a Allowance) Release() { a.Budget.ReleaseKind(a.Kind) }

// annotationFinalizers says of an object that finalizers are not in the cache. Like annotationNotCached, no user can set it.
var annotationFinalizers = "operator.example.com/without-finalizers-" + rand.Text()

// RemoveFinalizers removes the finalizers of an object, but one, before it is cached.
func RemoveFinalizers(object metav1.Object, but string) {
	var kept []string
	if slices.Contains(object.GetFinalizers(), but) {
		kept = []string{but}
	}
	object.SetFinalizers(kept)
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationFinalizers] = ""
	object.SetAnnotations(annotations)
}

// HasAllFinalizers reports whether the cache has all finalizers of an object. A patch of others would remove those that it lacks.
func HasAllFinalizers(object metav1.Object) bool {
	_, removed := object.GetAnnotations()[annotationFinalizers]
	return !removed
}

// IsCached reports whether a cached object has its content.
func IsCached(object metav1.Object) bool {
	_, marked := object.GetAnnotations()[annotationNotCached]
	return !marked
}

// NotCached returns why a cached object does not have its content; empty: it has.
func NotCached(object metav1.Object) budget.Excess {
	return budget.Excess(object.GetAnnotations()[annotationNotCached])
}

func (c *Content) owned(object metav1.Object) bool {
	ref := metav1.GetControllerOf(object)
	if ref == nil {
		return false
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && c.owners[version.WithKind(ref.Kind).GroupKind()]
}

// bare returns an object with what identifies it, and its controller. Kubernetes bounds neither all labels nor all owners.
func (c *Content) bare(object client.Object, excess budget.Excess) client.Object {
	fresh, ok := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(object).Elem()))
	if !ok {
		return object
	}
	fresh.GetObjectKind().SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	fresh.SetNamespace(object.GetNamespace())
	fresh.SetName(object.GetName())
	fresh.SetUID(object.GetUID())
	fresh.SetResourceVersion(object.GetResourceVersion())
	fresh.SetGeneration(object.GetGeneration())
	fresh.SetCreationTimestamp(object.GetCreationTimestamp())
	fresh.SetDeletionTimestamp(object.GetDeletionTimestamp())
	fresh.SetLabels(c.kept(object.GetLabels()))
	fresh.SetOwnerReferences(Controller(object))
	if excess != "" {
		fresh.SetAnnotations(map[string]string{annotationNotCached: string(excess)})
	}
	return fresh
}

// kept returns the labels that are kept; nil: there are none.
func (c *Content) kept(all map[string]string) (labels map[string]string) {
	for _, name := range c.labels {
		if value, ok := all[name]; ok {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[name] = value
		}
	}
	return labels
}

// maxReference bounds a reference to a controller, in bytes. Names and UIDs of our own objects are shorter, but the API server
// does not bound those that a user sets.
const maxReference = 1 << 10

// Controller returns the reference of an object to its controller, and no other; nil: it has none, or one that is too long to
// refer to an object.
func Controller(object metav1.Object) []metav1.OwnerReference {
	ref := metav1.GetControllerOf(object)
	if ref == nil || len(ref.APIVersion)+len(ref.Kind)+len(ref.Name)+len(ref.UID) > maxReference {
		return nil
	}
	return []metav1.OwnerReference{*ref}
}
