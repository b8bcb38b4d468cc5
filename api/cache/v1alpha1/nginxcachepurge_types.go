package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NginxCachePurge removes objects from all pods of an NginxCache. It is Complete when no pod can answer with what was
// stored, or requested from an origin, before.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nginxcachepurges,singular=nginxcachepurge,shortName=ngxpurge,categories=all
// +kubebuilder:printcolumn:name="Cache",type=string,JSONPath=`.spec.cacheRef.name`,description="The cache"
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].status`,description="Whether no pod can answer with the old content any more"
// +kubebuilder:printcolumn:name="Pods",type=string,JSONPath=`.status.progress`,description="Pods that have purged, and all pods"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`,description="Why it is Complete or not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NginxCachePurge struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the metadata of every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to purge. It cannot be changed: create another NginxCachePurge instead.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed, because pods may have purged already: create another NginxCachePurge"
	Spec NginxCachePurgeSpec `json:"spec,omitzero"`
	// status is how far the purge is. It is written by the operator only.
	// +optional
	Status NginxCachePurgeStatus `json:"status,omitempty"`
}

// NginxCachePurgeList is a list of NginxCachePurges.
//
// +kubebuilder:object:root=true
type NginxCachePurgeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NginxCachePurge `json:"items"`
}

// NginxCachePurgeSpec says what to purge.
//
// +kubebuilder:validation:XValidation:rule="[has(self.urls), has(self.prefixes), has(self.tags), has(self.all)].filter(x, x).size() == 1",message="set exactly one of urls, prefixes, tags and all"
type NginxCachePurgeSpec struct {
	// cacheRef is the NginxCache, in the same namespace.
	// +required
	CacheRef CacheReference `json:"cacheRef,omitzero"`

	// urls are the objects to purge, such as https://shop.example.com/a?v=1. The scheme makes no difference, nor how
	// the path is encoded. The query string does: an object with another one is another object.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^https?://[^/?#]+(/[^#]*)?$')",message="a URL must be http:// or https://, a host, and optionally a path and a query string, without a fragment, such as https://shop.example.com/a?v=1"
	URLs []string `json:"urls,omitempty"`

	// prefixes are folders, such as https://shop.example.com/static/. All objects below are purged, with all query
	// strings. A prefix ends with a slash, and has at most 6 folders.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^https?://[^/?#]+/([^/?#]+/){0,6}$')",message="a prefix must be http:// or https://, a host, and a path of at most 6 folders that ends with a slash, such as https://shop.example.com/static/"
	Prefixes []string `json:"prefixes,omitempty"`

	// tags purge the objects whose origin has sent one of them in the header Cache-Tag, which lists tags with commas in
	// between. Upper and lower case make a difference.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[!-+.-~-]+$')",message="a tag must consist of printable ASCII characters without spaces and commas"
	Tags []string `json:"tags,omitempty"`

	// all purges all objects.
	// +optional
	// +kubebuilder:validation:Enum=true
	All *bool `json:"all,omitempty"`

	// soft makes the objects stale instead of removing them. They are still the answer while they are requested again, and
	// if their origin fails, for as long as the cache and the origin allow stale answers.
	// +optional
	Soft *bool `json:"soft,omitempty"`

	// ttlSecondsAfterFinished is how long the NginxCachePurge remains after it is Complete, or has been rejected, in
	// seconds.
	// +optional
	// +default=3600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// CacheReference names an NginxCache.
type CacheReference struct {
	// name of the NginxCache.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=38
	Name string `json:"name,omitempty"`
}

// NginxCachePurgeStatus is how far a purge is.
type NginxCachePurgeStatus struct {
	// conditions has Complete.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// number orders the purges of a cache.
	// +optional
	Number int64 `json:"number,omitempty"`
	// completionTime is when no pod could answer with the old content any more, or, with soft, as if it were fresh.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// progress is the number of pods that have purged, and that of all pods, such as 3/6.
	// +optional
	Progress string `json:"progress,omitempty"`
	// pods has a row for each pod of the cache.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Pods []PurgePodStatus `json:"pods,omitempty"`
}

// PurgePodStatus is how far a purge is in a pod.
type PurgePodStatus struct {
	// name of the pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// state is Purged or Pending.
	// +required
	// +kubebuilder:validation:Enum=Purged;Pending
	State PurgeState `json:"state,omitempty"`
	// reason is what a pending pod waits for.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// PurgeState is how far a purge is in a pod.
type PurgeState string

// The states.
const (
	// PurgePurged: no request that comes from now on is answered with the old content.
	PurgePurged PurgeState = "Purged"
	// PurgePending: the pod may still answer with the old content.
	PurgePending PurgeState = "Pending"
)

// Finished reports whether nothing more happens to a purge.
func (p *NginxCachePurge) Finished() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == ConditionComplete {
			return c.Status == metav1.ConditionTrue || c.Reason == ReasonRejected
		}
	}
	return false
}
