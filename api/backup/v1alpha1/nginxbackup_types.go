package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NginxBackup is one backup of one NginxOperator: what it declares, the configuration that
// it asks for and the one that it serves, the ConfigMaps that it refers to, the content of
// its volumes, and its history.
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
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is backed up, and where to. It cannot be changed, apart from
	// deletionPolicy.
	// +required
	Spec NginxBackupSpec `json:"spec"`
	// status is what became of it.
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
// +kubebuilder:validation:XValidation:rule="self.target == oldSelf.target && self.destination == oldSelf.destination && has(self.includeSecrets) == has(oldSelf.includeSecrets) && (!has(self.includeSecrets) || self.includeSecrets == oldSelf.includeSecrets) && self.trigger == oldSelf.trigger && has(self.policyName) == has(oldSelf.policyName) && (!has(self.policyName) || self.policyName == oldSelf.policyName) && has(self.existing) == has(oldSelf.existing) && (!has(self.existing) || self.existing == oldSelf.existing)",message="a backup's spec cannot be changed, apart from deletionPolicy: create another NginxBackup"
// +kubebuilder:validation:XValidation:rule="!has(self.existing) || self.existing.path.split('/')[1] == self.target.name",message="target.name must be the application in existing.path, which is <namespace>/<application>/<backup>-<uid>"
type NginxBackupSpec struct {
	// target is the NginxOperator to back up.
	// +required
	Target TargetReference `json:"target"`
	// destination is where the backup is kept.
	// +required
	Destination Destination `json:"destination"`
	// includeSecrets puts the Secrets that the application uses into the backup,
	// encrypted. Unset: their names only, and the fingerprints of certificates. Of an existing
	// backup it tells what was done, and does nothing.
	// +optional
	IncludeSecrets *IncludeSecrets `json:"includeSecrets,omitempty"`
	// deletionPolicy is what becomes of the data when this object is deleted.
	// +optional
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// trigger is why the backup is taken. A policy sets it.
	// +optional
	// +kubebuilder:default=Manual
	// +kubebuilder:validation:Enum=Manual;Change;Scale;Schedule;BeforeRollout
	Trigger Trigger `json:"trigger,omitempty"`
	// policyName is the NginxBackupPolicy that made this backup. Unset: none did.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	PolicyName string `json:"policyName,omitempty"`
	// existing is a backup that is in the destination already, made under another object, perhaps
	// of another cluster. Nothing is written: it is verified. Unset: a new backup is taken.
	// +optional
	Existing *ExistingBackup `json:"existing,omitempty"`
}

// ExistingBackup is a backup that is in a store already.
type ExistingBackup struct {
	// path is the folder of the backup below destination.url, which has its backup.json:
	// <namespace>/<application>/<backup>-<first 8 digits of its UID>. The namespace has to be
	// that of this object.
	// +required
	// +kubebuilder:validation:MinLength=14
	// +kubebuilder:validation:MaxLength=175
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?-[0-9a-f]{8}$`
	Path string `json:"path"`
}

// NginxBackupStatus is what became of a backup.
type NginxBackupStatus struct {
	// observedGeneration is the metadata.generation that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Completed and Verified.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// reason tells in words why the backup was taken.
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
	// contents tells what the archive holds.
	// +optional
	Contents *BackupContents `json:"contents,omitempty"`
	// startTime is when the state was recorded that is backed up.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the archive was whole and in its place.
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
	// configRevision is the configuration that was asked for.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ConfigRevision string `json:"configRevision,omitempty"`
	// servedRevision is the configuration that was served.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ServedRevision string `json:"servedRevision,omitempty"`
	// image is the one that the pods ran.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// imageDigest is what the pods said that they really ran.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ImageDigest string `json:"imageDigest,omitempty"`
}

// BackupContents tells what an archive holds.
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
	// secrets that the application uses. The archive has their names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	Secrets []string `json:"secrets,omitempty"`
	// encryptedSecrets are those of them that the archive holds, encrypted.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=253
	EncryptedSecrets []string `json:"encryptedSecrets,omitempty"`
	// revisions of the history.
	// +optional
	Revisions int32 `json:"revisions,omitempty"`
	// skipped are things in the volumes that are no files, such as sockets.
	// +optional
	Skipped int64 `json:"skipped,omitempty"`
}
