// Package observe gathers what a reconcile pass decides from. It is the only
// reader: what is missing is an observation here, not an error.
package observe

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	// ObjectName is the derived name of the object of an application.
	ObjectName func(application string) string
}

// State is what a pass found in the cluster. Its objects belong to the cache:
// they must not be changed.
type State struct {
	// Owned are the live objects of the derived names, by kind. A kind that does
	// not exist is not in it.
	Owned map[string]Object
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
	// HasBinary tells that it holds binaryData, which nginx is not given.
	HasBinary bool
}

// Deployment is the live Deployment, or nil.
func (s State) Deployment() *appsv1.Deployment {
	d, _ := s.Owned["Deployment"].(*appsv1.Deployment)
	return d
}

// ConfigMap is the live ConfigMap with the rendered configuration, or nil.
func (s State) ConfigMap() *corev1.ConfigMap {
	c, _ := s.Owned["ConfigMap"].(*corev1.ConfigMap)
	return c
}

// After is the state with what an apply returned laid over it, so that a status
// tells of the writes of its own pass.
func (s State) After(applied map[string]Object) State {
	owned := make(map[string]Object, len(s.Owned)+len(applied))
	maps.Copy(owned, s.Owned)
	maps.Copy(owned, applied)
	s.Owned = owned
	return s
}
