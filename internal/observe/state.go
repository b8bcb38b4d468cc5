// Package observe gathers what a reconcile pass decides from. It is the only
// reader: what is missing is an observation here, not an error.
package observe

import (
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/nginxconf"
)

// Object is any Kubernetes object.
type Object interface {
	metav1.Object
	runtime.Object
}

// Kind is a kind of object that an application owns.
type Kind struct {
	// Name of the kind, as in the manifests.
	Name string
	// GVK identifies the kind in the API.
	GVK schema.GroupVersionKind
	// New makes an empty object of the kind.
	New func() Object
	// ObjectName is the derived name of the object of an application; nil for a kind
	// of which it has several.
	ObjectName func(application string) string
}

// Key names an object of an application.
type Key struct {
	// Kind is the name of the kind.
	Kind string
	// Name is the name of the object.
	Name string
}

// State is what a pass found in the cluster. Its objects belong to the cache:
// they must not be changed.
type State struct {
	// Owned are the live objects of the derived names. What does not exist is not in it.
	Owned map[Key]Object
	// Pods are the pods of the application, oldest first.
	Pods []corev1.Pod
	// Source is the ConfigMap that spec.config names; nil when it names none.
	Source *Source
	// MissingContent are the names of the ConfigMaps of spec.content that do not exist.
	MissingContent []string
	// Autoscaler is the name of the HorizontalPodAutoscaler that targets the
	// Deployment; empty when there is none.
	Autoscaler string
}

// Source is a referenced ConfigMap with configuration files.
type Source struct {
	// Name of the ConfigMap.
	Name string
	// Found tells whether it exists.
	Found bool
	// Version identifies its content: UID and resourceVersion.
	Version string
	// Files is its content.
	Files nginxconf.Files
	// RenderedFor is the NginxOperator whose rendered configuration this is; empty for
	// a ConfigMap of a user.
	RenderedFor string
	// HasBinary tells that it holds binaryData, which nginx is not given.
	HasBinary bool
}

// Deployment is the live Deployment, or nil.
func (s State) Deployment() *appsv1.Deployment {
	for _, obj := range s.Owned {
		if d, ok := obj.(*appsv1.Deployment); ok {
			return d
		}
	}
	return nil
}

// ConfigMaps are the live revisions of the rendered configuration, in the order of
// their names.
func (s State) ConfigMaps() []*corev1.ConfigMap {
	var all []*corev1.ConfigMap
	for _, obj := range s.Owned {
		if cm, ok := obj.(*corev1.ConfigMap); ok {
			all = append(all, cm)
		}
	}
	slices.SortFunc(all, func(a, b *corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Serving is the revision of the rendered configuration that the pods of the live
// Deployment start with: the one that was accepted last. It is nil when there is
// none, or when it is not what the operator wrote.
func (s State) Serving() *corev1.ConfigMap {
	d := s.Deployment()
	if d == nil {
		return nil
	}
	revision := d.Spec.Template.Annotations[naming.AnnotationConfig]
	for _, cm := range s.ConfigMaps() {
		if cm.Annotations[naming.AnnotationConfig] == revision && holdsRevision(cm) {
			return cm
		}
	}
	return nil
}

// holdsRevision tells whether a rendered configuration is, byte for byte, what the
// operator wrote.
func holdsRevision(rendered *corev1.ConfigMap) bool {
	return rendered.Annotations[naming.AnnotationConfig] == nginxconf.Revision(rendered.Data)
}

// After is the state with what an apply returned laid over it, so that a status
// tells of the writes of its own pass.
func (s State) After(applied map[Key]Object) State {
	owned := make(map[Key]Object, len(s.Owned)+len(applied))
	maps.Copy(owned, s.Owned)
	maps.Copy(owned, applied)
	s.Owned = owned
	return s
}
