// Package v1alpha1 contains the kinds of the backup operator, which uses NginxOperators through
// their public API: a policy says when backups are created, a backup is one of them, and a restore
// restores one.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package="applyconfiguration"
// +groupName=backup.operator.example.com
package v1alpha1
