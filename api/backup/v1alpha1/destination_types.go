package v1alpha1

// Destination says where backups are kept.
//
// +kubebuilder:validation:XValidation:rule="!has(self.secret) || !self.url.startsWith('pvc://')",message="destination.secret is for object stores only: a PersistentVolumeClaim needs no credentials"
type Destination struct {
	// url is one of
	//
	//   pvc://<claim>/<folder>                      a PersistentVolumeClaim of the namespace
	//   s3://<bucket>/<folder>?region=…&endpoint=…  S3 and what speaks its protocol
	//   gs://<bucket>/<folder>                      Google Cloud Storage
	//   azblob://<container>/<folder>               Azure Blob Storage
	//
	// A claim has to be for backups alone: everything on it is given to the group 101.
	// Below the folder, which can be left out, each application has its own:
	// <namespace>/<name>.
	// +required
	// +kubebuilder:validation:MinLength=6
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(pvc|s3|gs|azblob)://[^/?#@]+(/[^?#]*)?([?][^#]*)?$')",message="destination.url must be pvc://claim/folder, s3://bucket/folder, gs://bucket/folder or azblob://container/folder, without a user or a password: credentials belong into destination.secret"
	URL string `json:"url"`
	// secret holds the credentials of an object store. Its keys become environment variables
	// of the job that writes or reads (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
	// AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY); google.json is a service account's key
	// file, ca.crt holds the certificates that a private endpoint is verified by. Only that job's
	// pod mounts it: the operator never reads it. Unset: what the pod's surroundings give.
	// Who may create backups can so have any Secret of the namespace used.
	// +optional
	Secret *SecretReference `json:"secret,omitempty"`
}

// SecretReference names a Secret of the same namespace.
type SecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`
}

// TargetReference names an NginxOperator of the same namespace.
type TargetReference struct {
	// name of the NginxOperator.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=45
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// IncludeSecrets puts the Secrets that an application uses into its backups. They are
// encrypted in the job's pod, before they leave it.
type IncludeSecrets struct {
	// ageRecipients are the public keys that the Secrets are encrypted to
	// (https://age-encryption.org, `age-keygen`). Each of their owners can decrypt them.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^age1[02-9ac-hj-np-z]{58}$`
	AgeRecipients []string `json:"ageRecipients"`
}

// DeletionPolicy is what becomes of a backup's data when its object is deleted.
type DeletionPolicy string

// The values of DeletionPolicy.
const (
	// Retain leaves the data where it is.
	Retain DeletionPolicy = "Retain"
	// Delete deletes the data, too.
	Delete DeletionPolicy = "Delete"
)

// Trigger is why a backup is taken.
type Trigger string

// The values of Trigger.
const (
	// TriggerManual: somebody created the backup.
	TriggerManual Trigger = "Manual"
	// TriggerChange: the spec, apart from replicas, or the configuration that is served
	// became another.
	TriggerChange Trigger = "Change"
	// TriggerScale: spec.replicas became another.
	TriggerScale Trigger = "Scale"
	// TriggerSchedule: it was time.
	TriggerSchedule Trigger = "Schedule"
	// TriggerBeforeRollout: a rollout waits for it.
	TriggerBeforeRollout Trigger = "BeforeRollout"
)
