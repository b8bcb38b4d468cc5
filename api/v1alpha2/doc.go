// Package v1alpha2 is the storage version of the operator.example.com API and
// the hub that every other version converts through.
//
// The types import apimachinery and the Kubernetes API types only, so that any
// client can use them without the operator's code.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=operator.example.com
package v1alpha2
