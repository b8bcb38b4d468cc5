// Package v1alpha1 is the first version of the operator.example.com API, served so that its
// manifests keep working. It is converted through v1alpha2 without loss.
//
// The types import apimachinery only, so that any client can use them without the operator's code.
//
// +kubebuilder:object:generate=true
// +groupName=operator.example.com
package v1alpha1
