package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of the cache kinds.
const GroupName = "cache.operator.example.com"

// Kind is the kind of an NginxCache.
const Kind = "NginxCache"

var (
	// GroupVersion identifies this version of the API.
	GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}
	// SchemeGroupVersion is GroupVersion under the name that code generators expect.
	SchemeGroupVersion = GroupVersion

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme registers this version's types.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &NginxCache{}, &NginxCacheList{}, &NginxCachePurge{}, &NginxCachePurgeList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
