package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NginxRestore restores an application from a backup, once. It changes existing objects only if
// onConflict allows it; dryRun shows the changes first.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nginxrestores,singular=nginxrestore,shortName=nginxres,categories=all
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.status.target`,description="The NginxOperator that is brought back"
// +kubebuilder:printcolumn:name="Completed",type=string,JSONPath=`.status.conditions[?(@.type=="Completed")].status`,description="Whether everything asked for is back"
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`,description="Whether the application serves what the backup holds"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Completed")].reason`,description="Why it is Completed or not"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 56",message="metadata.name must be at most 56 characters long: the names of the jobs that do the work are derived from it"
type NginxRestore struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the metadata of every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is restored, and from where. It is immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a restore's spec cannot be changed: create another NginxRestore"
	Spec NginxRestoreSpec `json:"spec"`
	// status is the last observed state of the restore.
	// +optional
	Status NginxRestoreStatus `json:"status,omitempty"`
}

// NginxRestoreList is a list of NginxRestores.
//
// +kubebuilder:object:root=true
type NginxRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NginxRestore `json:"items"`
}

// NginxRestoreSpec says what is restored, and from where.
//
// +kubebuilder:validation:XValidation:rule="has(self.backup) != has(self.location)",message="set exactly one of backup and location"
type NginxRestoreSpec struct {
	// backup is an NginxBackup of the same namespace.
	// +optional
	Backup *BackupReference `json:"backup,omitempty"`
	// location is a backup without an object: from another cluster, or after its object was
	// deleted. The namespace of the backup must have the same name.
	// +optional
	Location *BackupLocation `json:"location,omitempty"`
	// target is the name of the restored NginxOperator. Unset: its original name. Under another
	// name, nothing that makes it reachable from outside the cluster is restored.
	// +optional
	Target *TargetReference `json:"target,omitempty"`
	// claims replace PersistentVolumeClaims of the backup by others.
	// +optional
	// +listType=map
	// +listMapKey=from
	// +kubebuilder:validation:MaxItems=64
	Claims []ClaimReplacement `json:"claims,omitempty"`
	// items are the parts to restore. Default: all of them.
	// +optional
	// +listType=set
	// +default=["Spec","Configuration","Content"]
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Items []RestoreItem `json:"items,omitempty"`
	// onConflict says what happens if something exists with other content. Refuse changes nothing
	// at all. Overwrite replaces it.
	// +optional
	// +default="Refuse"
	// +kubebuilder:validation:Enum=Refuse;Overwrite
	OnConflict ConflictPolicy `json:"onConflict,omitempty"`
	// dryRun lists the changes in status.changes without making them.
	// +optional
	DryRun *bool `json:"dryRun,omitempty"`
}

// BackupReference names an NginxBackup of the same namespace.
type BackupReference struct {
	// name of the NginxBackup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=56
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// BackupLocation is a backup in a store.
type BackupLocation struct {
	// destination is where backups are kept.
	// +required
	Destination Destination `json:"destination,omitzero"`
	// path is the folder of the backup below it: <namespace>/<application>/<backup>-<uid>, as in
	// status.location of an NginxBackup.
	// +required
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="path must be <namespace>/<application>/<backup>-<uid>, the folder of a backup below the destination's"
	Path string `json:"path,omitempty"`
}

// ClaimReplacement replaces a PersistentVolumeClaim by another.
type ClaimReplacement struct {
	// from is the claim in the backup.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	From string `json:"from,omitempty"`
	// to is the claim to which its files are restored, and to which the application then refers.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	To string `json:"to,omitempty"`
}

// RestoreItem is a part of a backup.
// +kubebuilder:validation:Enum=Spec;Configuration;Content
type RestoreItem string

// The values of RestoreItem.
const (
	// RestoreSpec is the spec of the NginxOperator except its configuration.
	RestoreSpec RestoreItem = "Spec"
	// RestoreConfiguration is spec.config, and every ConfigMap that the application refers to.
	RestoreConfiguration RestoreItem = "Configuration"
	// RestoreContent is the files of its volumes. The claims must exist. Files that are not in the
	// backup stay unchanged.
	RestoreContent RestoreItem = "Content"
)

// ConflictPolicy says what happens if something exists with other content.
type ConflictPolicy string

// The values of ConflictPolicy.
const (
	ConflictRefuse    ConflictPolicy = "Refuse"
	ConflictOverwrite ConflictPolicy = "Overwrite"
)

// NginxRestoreStatus is the last observed state of a restore.
type NginxRestoreStatus struct {
	// conditions are Completed and Verified.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// target is the name of the restored NginxOperator, known once the backup was read.
	// +optional
	// +kubebuilder:validation:MaxLength=45
	Target string `json:"target,omitempty"`
	// source is the state of the application that the backup holds.
	// +optional
	Source *BackupSource `json:"source,omitempty"`
	// changes are the changes that are or would be made.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Changes []RestoreChange `json:"changes,omitempty"`
	// secrets are the names of the Secrets that the application uses. They are not restored; a
	// backup contains them only encrypted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Secrets []string `json:"secrets,omitempty"`
	// completionTime is when everything was restored.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// RestoreChange is one change that is or would be made.
type RestoreChange struct {
	// kind is NginxOperator, ConfigMap or PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind,omitempty"`
	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// action is Create, Replace or None.
	// +required
	// +kubebuilder:validation:Enum=Create;Replace;None
	Action string `json:"action,omitempty"`
	// difference names the fields, keys or files that change, and the fields that are not restored.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Difference string `json:"difference,omitempty"`
}
