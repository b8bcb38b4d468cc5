package v1alpha1

// Destination says where backups are kept.
//
// +kubebuilder:validation:XValidation:rule="!has(self.secret) || !self.url.startsWith('pvc://')",message="destination.secret is for object stores only: a PersistentVolumeClaim needs no credentials"
type Destination struct {
	// url is one of
	//
	//   pvc://<claim>/<folder>                      a PersistentVolumeClaim of the namespace
	//   s3://<bucket>/<folder>?region=…&endpoint=…  S3 and compatible stores
	//   gs://<bucket>/<folder>                      Google Cloud Storage
	//   azblob://<container>/<folder>               Azure Blob Storage
	//
	// Use the claim for backups alone: the jobs change the group of everything on it to 101.
	// Below the folder, which is optional, each application has its own:
	// <namespace>/<name>.
	// +required
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(pvc|s3|gs|azblob)://[^/?#@]+(/[^?#]*)?([?][^#]*)?$')",message="destination.url must be pvc://claim/folder, s3://bucket/folder, gs://bucket/folder or azblob://container/folder, without a user or a password: credentials belong in destination.secret"
	URL string `json:"url,omitempty"`
	// secret holds the credentials of an object store. Its keys become environment variables of the
	// job that writes or reads (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AZURE_STORAGE_ACCOUNT
	// and AZURE_STORAGE_KEY); google.json is a service account's key file, and ca.crt holds the
	// certificates that verify a private endpoint. Only that job's pod mounts it; the operator
	// never reads it. Unset: the credentials of the pod's environment. Users who may create backups
	// can therefore use any Secret of the namespace.
	// +optional
	Secret *SecretReference `json:"secret,omitempty"`
}

// SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`
}

// TargetReference names an NginxOperator of the same namespace.
type TargetReference struct {
	// name of the NginxOperator.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
}

// IncludeSecrets adds the Secrets that an application uses to its backups. The job's pod encrypts
// them before they leave it.
type IncludeSecrets struct {
	// ageRecipients are the public keys for which the Secrets are encrypted
	// (https://age-encryption.org, `age-keygen`). The owner of each key can decrypt them.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^age1[02-9ac-hj-np-z]{58}$`
	AgeRecipients []string `json:"ageRecipients,omitempty"`
}

// DeletionPolicy says what happens to a backup's data when its object is deleted.
type DeletionPolicy string

// The values of DeletionPolicy.
const (
	// Retain keeps the data.
	Retain DeletionPolicy = "Retain"
	// Delete deletes the data.
	Delete DeletionPolicy = "Delete"
)

// Trigger is why a backup is taken.
type Trigger string

// The values of Trigger.
const (
	// TriggerManual: a user created the backup.
	TriggerManual Trigger = "Manual"
	// TriggerChange: the spec (except replicas) or the served configuration has changed.
	TriggerChange Trigger = "Change"
	// TriggerScale: spec.replicas has changed.
	TriggerScale Trigger = "Scale"
	// TriggerSchedule: a scheduled time has come.
	TriggerSchedule Trigger = "Schedule"
	// TriggerBeforeRollout: a rollout waits for it.
	TriggerBeforeRollout Trigger = "BeforeRollout"
)
