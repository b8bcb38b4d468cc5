// Package observe reads the state of the cluster and the instances that a pass decides from. A missing object is an
// observation, not an error.
package observe

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// State is what a pass found in the cluster. Its objects belong to the cache: do not change them.
type State struct {
	// Owned are the live objects of the derived names. Missing objects are not in it.
	Owned map[owned.Key]owned.Object
	// NotCached are the kinds and names of objects whose content the caches do not have, by the reason. They are read from the
	// API server.
	NotCached map[budget.Excess][]string
	// Unavailable are the optional kinds, by name, that the cluster lacks or that have not been read yet. Their objects are
	// not in Owned.
	Unavailable map[string]owned.Availability
	// Pods are the pods of the application's Deployment or StatefulSet, oldest first.
	Pods []corev1.Pod
	// ForeignPods are the names of other pods with the application's label, which its Service selects as well.
	ForeignPods []string
	// Instances are the status of the pods' instance managers, by pod name. A pod that does not answer is not in it.
	Instances map[string]*instanceapi.Status
	// Unreachable are the pods whose instance managers do not answer or take no orders, by pod name.
	Unreachable map[string]Failures
	// History holds the revisions of the application.
	History history.History
	// RecordedFiles are the configuration files of revisions that may run again, by the revision's name.
	RecordedFiles map[string]nginxconf.Files
	// Unlabelled are objects of the application that lost the label by which the caches find them. If there are any,
	// the rest of the state is incomplete.
	Unlabelled []*metav1.PartialObjectMetadata
	// Source is the ConfigMap that spec.config refers to; nil if it refers to none.
	Source *Source
	// MissingContent are the names of the ConfigMaps of spec.content that do not exist.
	MissingContent []string
	// ContentVersions identify the content of the others.
	ContentVersions []string
	// Autoscaler is the name of the HorizontalPodAutoscaler that targets the Deployment; empty if there is none.
	Autoscaler string
}

// Failures are the times of the first and the last of a row of failures. Whatever is later than the last one is unknown.
type Failures struct {
	First, Last time.Time
	// Order is why the last order failed, or why the answer of the pod is not used; empty: the pod does not answer at all.
	Order OrderFailure
}

// OrderFailure is why a pod that answers queries did not carry out an order: an instanceapi.Refusal, or one of these.
type OrderFailure string

// The failures without a Refusal.
const (
	// OrderUnanswered: the order was not answered.
	OrderUnanswered OrderFailure = "Unanswered"
	// OrderUnsigned: the operator has no key to sign it.
	OrderUnsigned OrderFailure = "NoKey"
	// OrderIgnored: the pod accepted the order, and its status does not show it.
	OrderIgnored OrderFailure = "Ignored"
	// AnswerTooLarge: no instance answers with as much as the pod does.
	AnswerTooLarge OrderFailure = "AnswerTooLarge"
	// AnswersTooLarge: the answers of all pods of the namespace take more than their part of the operator's memory.
	AnswersTooLarge OrderFailure = "AnswersTooLarge"
	// AnswersOfAllTooLarge: those of other namespaces leave too little of it.
	AnswersOfAllTooLarge OrderFailure = "AnswersOfAllTooLarge"
)

// refused reports whether the pod answered that it does not accept the order.
func (f OrderFailure) refused() bool {
	return slices.Contains(instanceapi.Refusals, instanceapi.Refusal(f))
}

// maxRowGap is the maximum time between two failures of a row. Attempts follow within silentRetryMax, or the wait between
// passes, and the time until a request fails.
const maxRowGap = time.Minute

// add adds the failure of an order to the row, or begins another one.
func (f *Failures) add(now time.Time, why OrderFailure) {
	if now.Sub(f.Last) > maxRowGap {
		f.First = now
	}
	f.Last, f.Order = now, why
}

// Source is a referenced ConfigMap with configuration files.
type Source struct {
	// Name of the ConfigMap.
	Name string
	// Found reports whether it exists.
	Found bool
	// Version identifies its content: UID and resourceVersion.
	Version string
	// Files is its content.
	Files nginxconf.Files
	// RenderedFor is the NginxOperator whose rendered configuration this is; empty for a ConfigMap of a user.
	RenderedFor string
	// HasBinary reports whether it contains binaryData, which nginx does not get.
	HasBinary bool
}

// Deployment returns the live Deployment, or nil.
func (s State) Deployment() *appsv1.Deployment { return ownedObject[*appsv1.Deployment](s) }

// Service returns the live Service of an application, or nil.
func (s State) Service(application string) *corev1.Service {
	service, _ := s.Owned[owned.Key{Kind: "Service", Name: naming.Service(application)}].(*corev1.Service)
	return service
}

// ownedObject returns the object of a type of which an application owns one.
func ownedObject[T owned.Object](s State) (found T) {
	for _, obj := range s.Owned {
		if o, ok := obj.(T); ok {
			return o
		}
	}
	return found
}

// Config returns the live ConfigMap of a derived name with a configuration, or nil.
func (s State) Config(name string) *corev1.ConfigMap {
	cm, _ := s.Owned[owned.Key{Kind: "ConfigMap", Name: name}].(*corev1.ConfigMap)
	return cm
}

// Rendered reports whether a live configuration is, byte for byte, what the operator wrote.
func Rendered(cm *corev1.ConfigMap) bool {
	return cm != nil && !hasOtherBinary(cm) && cm.Annotations[naming.AnnotationConfig] == nginxconf.Revision(cm.Data)
}

// hasOtherBinary reports whether a ConfigMap has binary files besides the trust file, which is no part of the
// configuration.
func hasOtherBinary(cm *corev1.ConfigMap) bool {
	for name := range cm.BinaryData {
		if name != instanceapi.FileTrust {
			return true
		}
	}
	return false
}

// After returns the state with the results of an apply and the recorded revisions, so that a status describes the
// writes of its own pass.
func (s State) After(applied map[owned.Key]owned.Object, recorded []history.Revision) State {
	owned := make(map[owned.Key]owned.Object, len(s.Owned)+len(applied))
	maps.Copy(owned, s.Owned)
	maps.Copy(owned, applied)
	s.Owned = owned
	for _, r := range recorded {
		s.History = s.History.With(r)
	}
	return s
}
