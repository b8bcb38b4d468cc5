// Package v1alpha1 contains the kinds of the cache operator: an NginxCache is a tier of nginx caches in front of origins.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=cache.operator.example.com
package v1alpha1
