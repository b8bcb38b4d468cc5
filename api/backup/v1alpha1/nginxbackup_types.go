package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NginxBackup is one backup of one NginxOperator: its declarations, the configuration that it
// requests and the one that it serves, the ConfigMaps that it refers to, the content of its
// volumes, and its history.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nginxbackups,singular=nginxbackup,shortName=nginxbak,categories=all
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.spec.target.name`,description="The NginxOperator"
// +kubebuilder:printcolumn:name="Completed",type=string,JSONPath=`.status.conditions[?(@.type=="Completed")].status`,description="Whether the backup is whole and in its place"
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`,description="Whether it was read back and is what was written"
// +kubebuilder:printcolumn:name="Trigger",type=string,JSONPath=`.spec.trigger`,description="Why it was taken"
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.size`,description="Size of the archive"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Completed")].reason`,description="Why it is Completed or not"
// +kubebuilder:printcolumn:name="Location",type=string,priority=1,JSONPath=`.status.location`,description="Where the archive is"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 56",message="metadata.name must be at most 56 characters long: the names of the jobs that do the work are derived from it"
type NginxBackup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the metadata of every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is backed up, and where to. It is immutable except for deletionPolicy.
	// +required
	Spec NginxBackupSpec `json:"spec,omitzero"`
	// status is the last observed state of the backup.
	// +optional
	Status NginxBackupStatus `json:"status,omitempty"`
}

// NginxBackupList is a list of NginxBackups.
//
// +kubebuilder:object:root=true
type NginxBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NginxBackup `json:"items"`
}

// NginxBackupSpec says what is backed up, and where to.
//
// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target && self.destination == oldSelf.destination && has(self.includeSecrets) == has(oldSelf.includeSecrets) && (!has(self.includeSecrets) || self.includeSecrets == oldSelf.includeSecrets) && has(self.excludeClaims) == has(oldSelf.excludeClaims) && (!has(self.excludeClaims) || self.excludeClaims == oldSelf.excludeClaims) && self.trigger == oldSelf.trigger && has(self.policyName) == has(oldSelf.policyName) && (!has(self.policyName) || self.policyName == oldSelf.policyName) && has(self.existing) == has(oldSelf.existing) && (!has(self.existing) || self.existing == oldSelf.existing)",message="a backup's spec cannot be changed, apart from deletionPolicy: create another NginxBackup"
// +kubebuilder:validation:XValidation:rule="!has(self.existing) || self.existing.path.split('/')[1] == self.target.name",message="target.name must be the application in existing.path, which is <namespace>/<application>/<backup>-<uid>"
type NginxBackupSpec struct {
	// target is the NginxOperator to back up.
	// +required
	Target TargetReference `json:"target,omitzero"`
	// destination is where the backup is kept.
	// +required
	Destination Destination `json:"destination,omitzero"`
	// includeSecrets adds the Secrets that the application uses to the backup, encrypted. Unset:
	// only their names, and the fingerprints of certificates. In an existing backup it only
	// describes the content.
	// +optional
	IncludeSecrets *IncludeSecrets `json:"includeSecrets,omitempty"`
	// excludeClaims names PersistentVolumeClaims of the application whose files are left out, such
	// as caches. Unset: the files of all its claims are in the backup. In an existing backup it only
	// describes the content.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ExcludeClaims []string `json:"excludeClaims,omitempty"`
	// deletionPolicy says what happens to the data when this object is deleted.
	// +optional
	// +default="Retain"
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// trigger is why the backup is taken. A policy sets it.
	// +optional
	// +default="Manual"
	// +kubebuilder:validation:Enum=Manual;Change;Scale;Schedule;BeforeRollout
	Trigger Trigger `json:"trigger,omitempty"`
	// policyName is the NginxBackupPolicy that created this backup. Unset: no policy did.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	PolicyName *string `json:"policyName,omitempty"`
	// existing is a backup that is already in the destination, created as another object, perhaps
	// in another cluster. It is verified, and nothing is written. Unset: a new backup is created.
	// +optional
	Existing *ExistingBackup `json:"existing,omitempty"`
}

// ExistingBackup is a backup that is already in a store.
type ExistingBackup struct {
	// path is the folder of the backup below destination.url, with its backup.json:
	// <namespace>/<application>/<backup>-<first 8 digits of its UID>. The namespace must be that of
	// this object.
	// +required
	// +kubebuilder:validation:MinLength=14
	// +kubebuilder:validation:MaxLength=175
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?-[0-9a-f]{8}$`
	Path string `json:"path,omitempty"`
}

// NginxBackupStatus is the last observed state of a backup.
type NginxBackupStatus struct {
	// conditions are Completed and Verified.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// reason says why the backup was created.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
	// source is the state of the application that is backed up.
	// +optional
	Source *BackupSource `json:"source,omitempty"`
	// location is the URL of the archive.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Location string `json:"location,omitempty"`
	// size of the archive, in bytes with a binary unit such as "12Mi".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`
	// sizeBytes is the size of the archive in bytes.
	// +optional
	SizeBytes int64 `json:"sizeBytes,omitempty"`
	// digest of the archive: "sha256:" and hexadecimal digits.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest,omitempty"`
	// contents describes the content of the archive.
	// +optional
	Contents *BackupContents `json:"contents,omitempty"`
	// startTime is when the backed up state was recorded.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the archive was complete and in its place.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// BackupSource is the state of an application that a backup holds.
type BackupSource struct {
	// uid of the NginxOperator.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	UID string `json:"uid,omitempty"`
	// generation of the NginxOperator.
	// +optional
	Generation int64 `json:"generation,omitempty"`
	// state is a hash of what the application declared, apart from replicas, and of its
	// configuration. Two backups of the same state hold the same declarations.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	State string `json:"state,omitempty"`
	// replicas that the application declared.
	// +optional
	Replicas int32 `json:"replicas"`
	// configRevision is the requested configuration.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ConfigRevision string `json:"configRevision,omitempty"`
	// servedRevision is the served configuration.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ServedRevision string `json:"servedRevision,omitempty"`
	// image is the image of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// imageDigest is the digest that the pods reported.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ImageDigest string `json:"imageDigest,omitempty"`
}

// BackupContents describes the content of an archive.
type BackupContents struct {
	// files in the archive.
	// +optional
	Files int64 `json:"files,omitempty"`
	// bytes of these files.
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// configMaps that the application refers to.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	ConfigMaps []string `json:"configMaps,omitempty"`
	// claims are the PersistentVolumeClaims whose files are in the archive.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Claims []string `json:"claims,omitempty"`
	// leftOut is what the application uses and the archive does not contain. Secrets are listed in
	// secrets.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// secrets that the application uses. The archive contains their names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Secrets []string `json:"secrets,omitempty"`
	// encryptedSecrets are the Secrets that the archive contains, encrypted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	EncryptedSecrets []string `json:"encryptedSecrets,omitempty"`
	// revisions of the history.
	// +optional
	Revisions int32 `json:"revisions,omitempty"`
	// skipped is the number of entries in the volumes that are not files, such as sockets.
	// +optional
	Skipped int64 `json:"skipped,omitempty"`
}

// LeftOut is something that an application uses and that is not in its backup.
type LeftOut struct {
	// kind is PersistentVolumeClaim, EmptyDir, CSI, Image or ServiceAccount.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Kind string `json:"kind,omitempty"`
	// name of the claim or the ServiceAccount, reference of the image, or name of the volume.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Name string `json:"name,omitempty"`
	// reason is Excluded if excludeClaims names the claim, Destination if the backup itself is kept
	// in it, Ephemeral if the data ends with the pod, and External if it is kept elsewhere: by a CSI
	// driver, in an image registry, or in the cluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	Reason LeftOutReason `json:"reason,omitempty"`
}

// LeftOutReason says why something is not in a backup.
type LeftOutReason string

// The values of LeftOutReason.
const (
	// LeftOutExcluded: excludeClaims names the claim.
	LeftOutExcluded LeftOutReason = "Excluded"
	// LeftOutDestination: the backup is kept in the claim.
	LeftOutDestination LeftOutReason = "Destination"
	// LeftOutEphemeral: the data ends with the pod.
	LeftOutEphemeral LeftOutReason = "Ephemeral"
	// LeftOutExternal: the data is kept elsewhere.
	LeftOutExternal LeftOutReason = "External"
)
