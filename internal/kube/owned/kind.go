// Package owned describes the objects that a resource owns: their kinds, and how each object should be. An
// operator lists its kinds in one table, from which caches, watches, comparison and pruning follow.
package owned

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// ErrStaleCache means that the caches lag behind the API server. It passes when they catch up.
var ErrStaleCache = errors.New("the caches lag behind")

// Object is any Kubernetes object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is a kind of object that an owner owns.
type Kind struct {
	// Name of the kind, as in manifests.
	Name string
	// GVK identifies the kind in the API.
	GVK schema.GroupVersionKind
	// Definition is the name of the CustomResourceDefinition that the cluster may lack; empty for kinds that every cluster
	// has. Objects of such a kind are unstructured.
	Definition string
	// New returns an empty object of the kind.
	New func() Object
	// ObjectName derives the object's name from that of its owner; nil if an owner may have several.
	ObjectName func(owner string) string
	// Requires are the names of kinds without which an object of this kind would do harm: it is not written
	// if one of them could not be written.
	Requires []string
	// ExclusivePaths are the fields to which no other client may add.
	ExclusivePaths []ExclusivePath
	// Schema says which fields are atomic, and what identifies the items of lists.
	Schema *Schema
	// Recreate reports whether a live object has to be deleted and created again to get the wanted fields, because the
	// API server does not let one of them change. differing are the paths of the wanted fields that differ, such as
	// spec.type. What the object owns stays. nil: no field needs that.
	Recreate func(want, live map[string]any, differing []string) bool
	// Trim removes from an object what nobody reads, before it is cached; nil removes its managedFields.
	Trim func(Object)
}

// ExclusivePath is a map in an object.
type ExclusivePath struct {
	// Path leads to it. EachItem stands for each item of a list that the operator applied.
	Path []string
	// Keys are those that no other client may add; all if empty.
	Keys []string
}

// EachItem is a step of a path that stands for each item of a list.
const EachItem = "*"

// NewKind describes the kind of T.
func NewKind[T any, P interface {
	*T
	Object
}](gv schema.GroupVersion, name string, objectName func(owner string) string) Kind {
	return Kind{
		Name:       name,
		GVK:        gv.WithKind(name),
		New:        func() Object { return P(new(T)) },
		ObjectName: objectName,
	}
}

// NewOptionalKind describes a kind that the cluster may lack, and of which an owner may have several objects.
func NewOptionalKind(gv schema.GroupVersion, name, resource string) Kind {
	gvk := gv.WithKind(name)
	return Kind{
		Name:       name,
		GVK:        gvk,
		Definition: resource + "." + gv.Group,
		New: func() Object {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(gvk)
			return object
		},
	}
}

// Key names an object of an owner.
type Key struct {
	// Kind is the name of the kind.
	Kind string
	// Name is the name of the object.
	Name string
}

// Intent is one object as it should be.
type Intent struct {
	Kind Kind
	Name string
	// Config holds the fields that the operator wants to own; nil if the object should not exist.
	Config runtime.ApplyConfiguration
	// Meta is the metadata inside Config.
	Meta *metav1ac.ObjectMetaApplyConfiguration
	// Fields is Config as plain values.
	Fields map[string]any
}

// ShouldExist reports whether the intent is an object, not its absence.
func (i Intent) ShouldExist() bool { return i.Config != nil }

// Key returns the key of the object.
func (i Intent) Key() Key { return Key{Kind: i.Kind.Name, Name: i.Name} }
