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
	// ConditionAvailable is True when at least the promised number of pods serve.
	ConditionAvailable = "Available"
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
	// ReasonForbidden: quota, admission or a terminating namespace refused an object.
	ReasonForbidden = "Forbidden"
)

// Reasons of ConfigValid.
const (
	// ReasonConfigServed: pods serve the configuration.
	ReasonConfigServed = "ConfigServed"
	// ReasonConfigPending: no pod has started with the configuration yet.
	ReasonConfigPending = "ConfigPending"
	// ReasonConfigRejected: nginx refused the configuration.
	ReasonConfigRejected = "ConfigRejected"
)

// Reasons of UpToDate.
const (
	// ReasonRolledOut: every pod is of the newest template.
	ReasonRolledOut = "RolledOut"
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
	// ReasonSuspended: spec.suspend holds a change back.
	ReasonSuspended = "Suspended"
)

// Reasons of Available.
const (
	// ReasonMinimumReplicasAvailable: at least the promised number of pods serve.
	ReasonMinimumReplicasAvailable = "MinimumReplicasAvailable"
	// ReasonMinimumReplicasUnavailable: fewer pods than promised serve.
	ReasonMinimumReplicasUnavailable = "MinimumReplicasUnavailable"
	// ReasonScaledToZero: no pod is asked for.
	ReasonScaledToZero = "ScaledToZero"
)

// ReasonReady is the reason of Ready when it is True.
const ReasonReady = "Ready"
