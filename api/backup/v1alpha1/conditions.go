package v1alpha1

// Condition types of an NginxBackup and of an NginxRestore.
const (
	// ConditionCompleted is True when the archive of a backup is complete and in its place, or when
	// a restore has restored everything that it requested.
	ConditionCompleted = "Completed"
	// ConditionVerified is True when the archive of a backup has been read back without a
	// difference, or when the application serves what was restored.
	ConditionVerified = "Verified"
)

// Condition types of an NginxBackupPolicy.
const (
	// ConditionAccepted is True when the spec is valid.
	ConditionAccepted = "Accepted"
	// ConditionReady is True when every target has the backups that it should have.
	ConditionReady = "Ready"
	// ConditionListed is True when every backup in the destination has an object, as far as the
	// last listing has seen.
	ConditionListed = "Listed"
)

// Reasons of Completed.
const (
	// ReasonCompleted: the archive is whole and in its place.
	ReasonCompleted = "Completed"
	// ReasonTargetNotFound: the NginxOperator does not exist. The backup waits for it.
	ReasonTargetNotFound = "TargetNotFound"
	// ReasonInProgress: a job writes the archive.
	ReasonInProgress = "InProgress"
	// ReasonPodNotStarted: the job's pod cannot start, as the message says.
	ReasonPodNotStarted = "PodNotStarted"
	// ReasonJobNotCreated: quota or admission refused the job.
	ReasonJobNotCreated = "JobNotCreated"
	// ReasonJobFailed: the job ended without a report, for example because it was killed.
	ReasonJobFailed = "JobFailed"
	// ReasonSourceFailed: something of the application could not be read.
	ReasonSourceFailed = "SourceFailed"
	// ReasonDestinationInvalid: the destination is invalid, as the message says.
	ReasonDestinationInvalid = "DestinationInvalid"
	// ReasonStoreUnavailable: the store is down, too slow, or says that it is.
	ReasonStoreUnavailable = "StoreUnavailable"
	// ReasonStoreDenied: the store denied access: wrong credentials, missing permissions or a
	// read-only store.
	ReasonStoreDenied = "StoreDenied"
	// ReasonStoreNotFound: the bucket, container or folder does not exist.
	ReasonStoreNotFound = "StoreNotFound"
	// ReasonStoreFull: the store has no room left.
	ReasonStoreFull = "StoreFull"
	// ReasonStoreFailed: the store returned another error.
	ReasonStoreFailed = "StoreFailed"
	// ReasonDamaged: the data read back differs from the data written, or cannot be read.
	ReasonDamaged = "Damaged"
	// ReasonDeleting: the data is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonPathInvalid: existing.path is invalid, as the message says. There is no retry.
	ReasonPathInvalid = "PathInvalid"
)

// Reasons of a restore's Completed, in addition to those of a backup. A restore that is Damaged,
// NotUsable or in Conflict is not retried: create another NginxRestore.
const (
	// ReasonDryRun: the status lists the changes, and nothing was changed.
	ReasonDryRun = "DryRun"
	// ReasonBackupNotFound: the backup does not exist. The restore waits for it.
	ReasonBackupNotFound = "BackupNotFound"
	// ReasonBackupNotCompleted: the backup is not complete. The restore waits for it.
	ReasonBackupNotCompleted = "BackupNotCompleted"
	// ReasonNotUsable: the backup cannot be restored here, as the message says.
	ReasonNotUsable = "NotUsable"
	// ReasonConflict: an object or a file exists with other content, and nothing was changed.
	ReasonConflict = "Conflict"
	// ReasonUnreachable: the operator cannot reach the pod that reads the backup.
	ReasonUnreachable = "Unreachable"
	// ReasonTargetDeleting: the NginxOperator is being deleted. The restore waits until it is gone.
	ReasonTargetDeleting = "TargetDeleting"
	// ReasonWriteRefused: the API server rejected an object, as the message says.
	ReasonWriteRefused = "WriteRefused"
)

// Reasons of Verified.
const (
	// ReasonVerified: the archive was read back without a difference.
	ReasonVerified = "Verified"
	// ReasonNotVerified: the archive has not been read back, or nothing has been restored.
	ReasonNotVerified = "NotVerified"
	// ReasonNotReady: the restored application is not Ready.
	ReasonNotReady = "NotReady"
	// ReasonServesAnother: the restored application serves a configuration that differs from the
	// backup's.
	ReasonServesAnother = "ServesAnother"
	// ReasonFilesNotInBackup: the backup neither has the files of a claim that the restored
	// application mounts, nor says that it left them out, because an earlier release wrote it.
	ReasonFilesNotInBackup = "FilesNotInBackup"
	// ReasonDataMissing: a listing of the destination did not find the data.
	ReasonDataMissing = "DataMissing"
)

// Reasons of a policy's conditions.
const (
	// ReasonAccepted: the spec is valid.
	ReasonAccepted = "Accepted"
	// ReasonScheduleInvalid: the schedule's times or time zone are invalid.
	ReasonScheduleInvalid = "ScheduleInvalid"
	// ReasonSelectorInvalid: the selector is invalid.
	ReasonSelectorInvalid = "SelectorInvalid"
	// ReasonUpToDate: every target has the backups that it should have.
	ReasonUpToDate = "UpToDate"
	// ReasonBackupPending: a backup is in progress or due.
	ReasonBackupPending = "BackupPending"
	// ReasonBackupFailing: a backup fails, as the message says.
	ReasonBackupFailing = "BackupFailing"
	// ReasonGateNotDeclared: rollouts of a target do not wait for the backup that the policy
	// takes before them.
	ReasonGateNotDeclared = "GateNotDeclared"
	// ReasonNoTargets: the policy selects no NginxOperator.
	ReasonNoTargets = "NoTargets"
	// ReasonSuspended: the policy is suspended.
	ReasonSuspended = "Suspended"
	// ReasonListed: every backup in the destination has an object.
	ReasonListed = "Listed"
	// ReasonListing: the destination is being listed for the first time since the policy changed.
	ReasonListing = "Listing"
	// ReasonBackupNotCreated: the API server rejected the object of a backup that was found.
	ReasonBackupNotCreated = "BackupNotCreated"
)
