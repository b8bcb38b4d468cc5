package v1alpha1

// Labels and annotations of the backups that a policy creates.
const (
	// LabelPolicy holds the name of the policy that created a backup.
	LabelPolicy = "backup.operator.example.com/policy"
	// LabelTarget holds the name of the NginxOperator that is backed up.
	LabelTarget = "backup.operator.example.com/target"
	// LabelBackup is on the objects that carry out a backup, and holds its name.
	LabelBackup = "backup.operator.example.com/backup"
	// LabelRestore is on the jobs that carry out a restore, and holds its name.
	LabelRestore = "backup.operator.example.com/restore"
	// AnnotationRestoredBy is on objects that a restore has created or replaced, and holds the
	// restore's UID.
	AnnotationRestoredBy = "backup.operator.example.com/restored-by"
	// AnnotationPolicyVersion holds the UID and the generation of the policy that created a backup.
	AnnotationPolicyVersion = "backup.operator.example.com/policy-version"
	// AnnotationSequence numbers the backups of a policy and target.
	AnnotationSequence = "backup.operator.example.com/sequence"
	// AnnotationState is a hash of what the application declared when the backup was created, and
	// of its configuration.
	AnnotationState = "backup.operator.example.com/state"
	// AnnotationReplicas holds the replicas that it declared then.
	AnnotationReplicas = "backup.operator.example.com/replicas"
	// AnnotationReason says why the backup was created.
	AnnotationReason = "backup.operator.example.com/reason"
	// AnnotationScheduledAt is the scheduled time for which the backup was created.
	AnnotationScheduledAt = "backup.operator.example.com/scheduled-at"
	// AnnotationRollout is the revision of the rollout that waits for the backup, as in
	// status.waitingRollout of the NginxOperator. AnnotationWaitingSince is the time since when it
	// waits.
	AnnotationRollout      = "backup.operator.example.com/rollout"
	AnnotationWaitingSince = "backup.operator.example.com/waiting-since"
)

// Finalizer keeps a backup with the deletion policy Delete until its data is gone.
const Finalizer = "backup.operator.example.com/data"
