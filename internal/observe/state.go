// Package observe gathers what a reconcile pass decides from. It is the only
// reader: what is missing is an observation here, not an error.
package observe

import (
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/nginx-operator/internal/canary"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/instanceapi"
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
	// ObjectName is the derived name of the object of an application.
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
	// Pods are the pods of the application's Deployment, oldest first.
	Pods []corev1.Pod
	// Strangers are the names of other pods that have the application's label, by which its Service finds them, too.
	Strangers []string
	// Instances is what the pods' instance managers say, by the pod's name. A pod that
	// does not answer is not in it.
	Instances map[string]*instanceapi.Status
	// History is what the application has been and was about to become.
	History history.History
	// RecordedFiles are the configuration files of revisions that may be gone back to, by
	// the revision's name.
	RecordedFiles map[string]nginxconf.Files
	// Verdict is what the comparison of the canaries with the others came to; nil: they were not
	// compared in this pass.
	Verdict *canary.Verdict
	// Renew tells that the pods may be given this release's own template.
	Renew bool
	// Now is the time of the pass.
	Now time.Time
	// Overdue tells that the pods have had time to do what they were asked.
	Overdue bool
	// Source is the ConfigMap that spec.config names; nil when it names none.
	Source *Source
	// MissingContent are the names of the ConfigMaps of spec.content that do not exist.
	MissingContent []string
	// ContentVersions identify the content of those that do.
	ContentVersions []string
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
func (s State) Deployment() *appsv1.Deployment { return only[*appsv1.Deployment](s) }

// Service is the live Service, or nil.
func (s State) Service() *corev1.Service { return only[*corev1.Service](s) }

// only is the object of a type of which an application owns one.
func only[T Object](s State) (found T) {
	for _, obj := range s.Owned {
		if o, ok := obj.(T); ok {
			return o
		}
	}
	return found
}

// Config is the live ConfigMap of a derived name with a configuration, or nil.
func (s State) Config(name string) *corev1.ConfigMap {
	cm, _ := s.Owned[Key{"ConfigMap", name}].(*corev1.ConfigMap)
	return cm
}

// Rendered tells whether a live configuration is, byte for byte, what the operator
// wrote.
func Rendered(cm *corev1.ConfigMap) bool {
	return cm != nil && len(cm.BinaryData) == 0 && cm.Annotations[naming.AnnotationConfig] == nginxconf.Revision(cm.Data)
}

// After is the state with what an apply returned laid over it, and what was recorded in
// the history, so that a status tells of the writes of its own pass.
func (s State) After(applied map[Key]Object, recorded []history.Revision) State {
	owned := make(map[Key]Object, len(s.Owned)+len(applied))
	maps.Copy(owned, s.Owned)
	maps.Copy(owned, applied)
	s.Owned = owned
	for _, r := range recorded {
		s.History = s.History.With(r)
	}
	return s
}
