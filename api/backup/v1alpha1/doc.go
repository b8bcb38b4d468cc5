// Package v1alpha1 holds the kinds of the backup operator, which is built on the API of
// NginxOperators as anybody could: a policy says when backups are taken, a backup is one
// of them, and a restore brings one back.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=backup.operator.example.com
package v1alpha1
