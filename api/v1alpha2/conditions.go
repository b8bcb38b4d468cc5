package v1alpha2

// Condition types of an NginxOperator. All of them are positive: True is good.
const (
	// ConditionAccepted is True when the spec is valid and every reference resolves.
	ConditionAccepted = "Accepted"
	// ConditionConfigValid is True when nginx accepted the configuration asked for.
	ConditionConfigValid = "ConfigValid"
	// ConditionUpToDate is True when every pod runs the template and serves the
	// configuration asked for.
	ConditionUpToDate = "UpToDate"
	// ConditionAvailable is True when at least spec.replicas less rollout.maxUnavailable pods serve.
	ConditionAvailable = "Available"
	// ConditionCertificatesValid is True when every certificate of spec.tls loads,
	// matches its key and is not close to its end. It is there only where spec.tls is
	// set.
	ConditionCertificatesValid = "CertificatesValid"
	// ConditionReady is True when all the others are: the one to wait for. Its
	// reason and message are those of the first that is not.
	ConditionReady = "Ready"
)

// Reasons of Accepted.
const (
	// ReasonAccepted: nothing stands in the way.
	ReasonAccepted = "Accepted"
	// ReasonConfigMapNotFound: a ConfigMap that the spec names does not exist.
	ReasonConfigMapNotFound = "ConfigMapNotFound"
	// ReasonConfigInvalid: the configuration's files cannot be put together.
	ReasonConfigInvalid = "ConfigInvalid"
	// ReasonNameConflict: an object of a derived name exists and belongs to somebody else.
	ReasonNameConflict = "NameConflict"
	// ReasonRejected: the API server refused an object, for good.
	ReasonRejected = "Rejected"
	// ReasonRevisionNotFound: rollout.toRevision names no revision of the history.
	ReasonRevisionNotFound = "RevisionNotFound"
	// ReasonForbidden: quota, admission or a terminating namespace refused an object.
	ReasonForbidden = "Forbidden"
)

// Reasons of ConfigValid.
const (
	// ReasonConfigAccepted: the nginx of every pod accepted the configuration.
	ReasonConfigAccepted = "ConfigAccepted"
	// ReasonConfigPending: not every pod has tested the configuration yet.
	ReasonConfigPending = "ConfigPending"
	// ReasonConfigRejected: nginx refused the configuration, or changed files of a volume of
	// podTemplate.reloadOn.
	ReasonConfigRejected = "ConfigRejected"
)

// Reasons of UpToDate.
const (
	// ReasonRolledOut: every pod is of the newest template.
	ReasonRolledOut = "RolledOut"
	// ReasonPinned: every pod is of the revision that rollout.toRevision names, whatever else
	// the spec says.
	ReasonPinned = "RevisionPinned"
	// ReasonRolloutInProgress: pods are being replaced.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonProgressDeadlineExceeded: the rollout stood still for too long.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonImagePullFailed: a new pod's image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerCrashed: a container of a new pod ends again and again.
	ReasonContainerCrashed = "ContainerCrashed"
	// ReasonContainerNotStarted: a container of a new pod cannot be started.
	ReasonContainerNotStarted = "ContainerNotStarted"
	// ReasonUnschedulable: no node takes a new pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonPodsNotCreated: the API server refuses new pods (quota, admission).
	ReasonPodsNotCreated = "PodsNotCreated"
	// ReasonApplyFailed: an object could not be written; it is tried again.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonWaitingForDeletion: an object is being deleted, and has to be gone before it can be made anew.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonConfigLoading: pods are about to serve the configuration, or loaded it less than 5 seconds ago and may go back.
	ReasonConfigLoading = "ConfigLoading"
	// ReasonConfigLost: somebody deleted or changed what pods start with.
	ReasonConfigLost = "ConfigLost"
	// ReasonInstanceUnreachable: the instance manager of a pod does not answer.
	ReasonInstanceUnreachable = "InstanceUnreachable"
	// ReasonCanaryFailed: the first new pods did worse than the others.
	ReasonCanaryFailed = "CanaryFailed"
	// ReasonCanaryRunning: the first new pods, or the first pod with a new configuration,
	// are being compared with the others.
	ReasonCanaryRunning = "CanaryRunning"
	// ReasonRollingBack: the rollout failed, and the last good revision is being put back.
	ReasonRollingBack = "RollingBack"
	// ReasonRolledBack: the rollout failed, and the pods are of the last good revision.
	ReasonRolledBack = "RolledBack"
	// ReasonRolloutHeld: the rollout failed, and waits for somebody to look at it.
	ReasonRolloutHeld = "RolloutHeld"
	// ReasonWaitingForGate: a rollout has not begun, because gates of rollout.gates are closed.
	ReasonWaitingForGate = "WaitingForGate"
	// ReasonSuspended: spec.suspend holds a change back.
	ReasonSuspended = "Suspended"
)

// Reasons of Available.
const (
	// ReasonMinimumReplicasAvailable: at least spec.replicas less rollout.maxUnavailable pods serve.
	ReasonMinimumReplicasAvailable = "MinimumReplicasAvailable"
	// ReasonMinimumReplicasUnavailable: fewer pods serve than that.
	ReasonMinimumReplicasUnavailable = "MinimumReplicasUnavailable"
	// ReasonScaledToZero: no pod is asked for.
	ReasonScaledToZero = "ScaledToZero"
)

// Reasons of CertificatesValid.
const (
	// ReasonCertificatesLoaded: every certificate is good.
	ReasonCertificatesLoaded = "CertificatesLoaded"
	// ReasonCertificatePending: no pod has told of the certificates yet.
	ReasonCertificatePending = "CertificatePending"
	// ReasonCertificateInvalid: a Secret is missing, or what it holds is no pair.
	ReasonCertificateInvalid = "CertificateInvalid"
	// ReasonCertificateExpiring: a certificate is close to its end, or past it.
	ReasonCertificateExpiring = "CertificateExpiring"
)

// ReasonReady is the reason of Ready when it is True.
const ReasonReady = "Ready"
