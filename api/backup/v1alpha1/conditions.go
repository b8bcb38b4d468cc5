package v1alpha1

// Condition types of an NginxBackup and of an NginxRestore.
const (
	// ConditionCompleted is True when the archive of a backup is whole and in its place, and when
	// everything is back that a restore was asked for.
	ConditionCompleted = "Completed"
	// ConditionVerified is True when the archive of a backup was read back and is what was
	// written, and when the application serves what was restored.
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
	// ReasonTargetNotFound: there is no such NginxOperator. It is waited for.
	ReasonTargetNotFound = "TargetNotFound"
	// ReasonInProgress: a job writes the archive.
	ReasonInProgress = "InProgress"
	// ReasonPodNotStarted: the job's pod cannot start, as the message says.
	ReasonPodNotStarted = "PodNotStarted"
	// ReasonJobNotCreated: quota or admission refused the job.
	ReasonJobNotCreated = "JobNotCreated"
	// ReasonJobFailed: the job ended without a word, as one that was killed does.
	ReasonJobFailed = "JobFailed"
	// ReasonSourceFailed: something of the application could not be read.
	ReasonSourceFailed = "SourceFailed"
	// ReasonDestinationInvalid: the destination cannot be, as the message says.
	ReasonDestinationInvalid = "DestinationInvalid"
	// ReasonStoreUnavailable: the store is down, too slow, or says that it is.
	ReasonStoreUnavailable = "StoreUnavailable"
	// ReasonStoreDenied: the store refused: wrong credentials, missing rights, read-only.
	ReasonStoreDenied = "StoreDenied"
	// ReasonStoreNotFound: there is no such bucket, container or folder.
	ReasonStoreNotFound = "StoreNotFound"
	// ReasonStoreFull: the store has no room left.
	ReasonStoreFull = "StoreFull"
	// ReasonStoreFailed: the store said something else.
	ReasonStoreFailed = "StoreFailed"
	// ReasonDamaged: what was read back is not what was written, or what is there cannot be read.
	ReasonDamaged = "Damaged"
	// ReasonDeleting: the data is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonPathInvalid: existing.path cannot be, as the message says. It is not tried again.
	ReasonPathInvalid = "PathInvalid"
)

// Reasons of a restore's Completed, beside those of a backup's. What is Damaged, NotUsable or in
// Conflict is not tried again: create another NginxRestore.
const (
	// ReasonDryRun: what would be changed is told, and nothing was.
	ReasonDryRun = "DryRun"
	// ReasonBackupNotFound: there is no such backup. It is waited for.
	ReasonBackupNotFound = "BackupNotFound"
	// ReasonBackupNotCompleted: the backup is not whole yet. It is waited for.
	ReasonBackupNotCompleted = "BackupNotCompleted"
	// ReasonNotUsable: the backup cannot be restored here, as the message says.
	ReasonNotUsable = "NotUsable"
	// ReasonConflict: something else is there, and nothing was changed.
	ReasonConflict = "Conflict"
	// ReasonUnreachable: the operator cannot reach the pod that reads the backup.
	ReasonUnreachable = "Unreachable"
	// ReasonTargetDeleting: the NginxOperator of this name is being deleted. It is waited for.
	ReasonTargetDeleting = "TargetDeleting"
	// ReasonWriteRefused: the API server refused an object, as the message says.
	ReasonWriteRefused = "WriteRefused"
)

// Reasons of Verified.
const (
	// ReasonVerified: the archive was read back and is what was written.
	ReasonVerified = "Verified"
	// ReasonNotVerified: the archive was not read back yet, or nothing was restored yet.
	ReasonNotVerified = "NotVerified"
	// ReasonNotReady: the restored application is not Ready.
	ReasonNotReady = "NotReady"
	// ReasonServesAnother: the restored application serves another configuration than the
	// backup holds.
	ReasonServesAnother = "ServesAnother"
	// ReasonDataMissing: the data was there, and a listing of the destination did not find it.
	ReasonDataMissing = "DataMissing"
)

// Reasons of a policy's conditions.
const (
	// ReasonAccepted: the spec is valid.
	ReasonAccepted = "Accepted"
	// ReasonScheduleInvalid: the schedule's times or time zone cannot be understood.
	ReasonScheduleInvalid = "ScheduleInvalid"
	// ReasonSelectorInvalid: the selector cannot be understood.
	ReasonSelectorInvalid = "SelectorInvalid"
	// ReasonUpToDate: every target has the backups that it should have.
	ReasonUpToDate = "UpToDate"
	// ReasonBackupPending: a backup is being taken, or is about to.
	ReasonBackupPending = "BackupPending"
	// ReasonBackupFailing: a backup does not come about, as the message says.
	ReasonBackupFailing = "BackupFailing"
	// ReasonGateNotDeclared: rollouts of a target do not wait for the backup that the policy
	// takes before them.
	ReasonGateNotDeclared = "GateNotDeclared"
	// ReasonNoTargets: there is nothing to back up.
	ReasonNoTargets = "NoTargets"
	// ReasonSuspended: the policy is suspended.
	ReasonSuspended = "Suspended"
	// ReasonListed: every backup in the destination has an object.
	ReasonListed = "Listed"
	// ReasonListing: the destination is being listed, and has not been as the policy is now.
	ReasonListing = "Listing"
	// ReasonBackupNotCreated: the API server refused the object of a backup that was found.
	ReasonBackupNotCreated = "BackupNotCreated"
)
