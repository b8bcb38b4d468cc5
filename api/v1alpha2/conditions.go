package v1alpha2

// Condition types of an NginxOperator. All of them are positive: True is good.
const (
	// ConditionAccepted is True when the spec is valid and every reference resolves.
	ConditionAccepted = "Accepted"
	// ConditionConfigValid is True when nginx accepted the requested configuration.
	ConditionConfigValid = "ConfigValid"
	// ConditionUpToDate is True when every pod runs the template and serves the requested
	// configuration.
	ConditionUpToDate = "UpToDate"
	// ConditionAvailable is True when at least spec.replicas minus rollout.maxUnavailable pods serve.
	ConditionAvailable = "Available"
	// ConditionCertificatesValid is True when every certificate of spec.tls loads, matches its key
	// and does not expire soon. It is set only if spec.tls is.
	ConditionCertificatesValid = "CertificatesValid"
	// ConditionExposed is True when the Ingress has an address, every Gateway has accepted the
	// HTTPRoutes, and cert-manager has issued the Certificates. It is set only if the spec
	// declares one of them. Ready does not depend on it.
	ConditionExposed = "Exposed"
	// ConditionReady is True when all conditions but Exposed are: wait for this one. Its reason and
	// message are those of the first condition that is not True.
	ConditionReady = "Ready"
)

// Reasons of Accepted.
const (
	// ReasonAccepted: the spec can be applied.
	ReasonAccepted = "Accepted"
	// ReasonConfigMapNotFound: a ConfigMap that the spec names does not exist.
	ReasonConfigMapNotFound = "ConfigMapNotFound"
	// ReasonConfigInvalid: the configuration's files cannot be combined.
	ReasonConfigInvalid = "ConfigInvalid"
	// ReasonInvalidSpec: the spec must not be carried out, so the pods keep what they have.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNameConflict: an object with a required name exists and belongs to another owner.
	ReasonNameConflict = "NameConflict"
	// ReasonRejected: the API server rejected an object, and a retry would not help.
	ReasonRejected = "Rejected"
	// ReasonRevisionNotFound: rollout.toRevision names no revision of the history.
	ReasonRevisionNotFound = "RevisionNotFound"
	// ReasonForbidden: a quota, admission or a terminating namespace rejected an object.
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
	// ReasonRolledOut: every pod runs the newest template.
	ReasonRolledOut = "RolledOut"
	// ReasonPinned: every pod runs the revision that rollout.toRevision names, whatever else the
	// spec declares.
	ReasonPinned = "RevisionPinned"
	// ReasonRolloutInProgress: pods are being replaced.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonProgressDeadlineExceeded: the rollout made no progress for too long.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonImagePullFailed: a new pod's image cannot be pulled.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerCrashed: a container of a new pod crashes repeatedly.
	ReasonContainerCrashed = "ContainerCrashed"
	// ReasonContainerNotStarted: a container of a new pod cannot be started.
	ReasonContainerNotStarted = "ContainerNotStarted"
	// ReasonUnschedulable: no node can run a new pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonPodsNotCreated: the API server rejects new pods (quota, admission).
	ReasonPodsNotCreated = "PodsNotCreated"
	// ReasonApplyFailed: an object could not be written; the operator retries.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonWaitingForDeletion: an object is being deleted, and is recreated when it is gone.
	ReasonWaitingForDeletion = "WaitingForDeletion"
	// ReasonConfigLoading: pods load the configuration, or loaded it less than 5 seconds ago and
	// may still roll it back.
	ReasonConfigLoading = "ConfigLoading"
	// ReasonConfigLost: another client deleted or changed the configuration that pods start with.
	ReasonConfigLost = "ConfigLost"
	// ReasonInstanceUnreachable: the instance manager of a pod does not answer, or takes no orders.
	ReasonInstanceUnreachable = "InstanceUnreachable"
	// ReasonCanaryFailed: the first new pods had worse results than the others.
	ReasonCanaryFailed = "CanaryFailed"
	// ReasonCanaryRunning: the first new pods, or the first pod with a new configuration,
	// are being compared with the others.
	ReasonCanaryRunning = "CanaryRunning"
	// ReasonRollingBack: the rollout failed, and the last good revision is being restored.
	ReasonRollingBack = "RollingBack"
	// ReasonRolledBack: the rollout failed, and the pods run the last good revision.
	ReasonRolledBack = "RolledBack"
	// ReasonRolloutHeld: the rollout failed, and waits for a user.
	ReasonRolloutHeld = "RolloutHeld"
	// ReasonRolloutPaused: rollout.paused keeps a rollout from continuing, or from beginning.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonWaitingForGate: a rollout has not started, because gates of rollout.gates are closed.
	ReasonWaitingForGate = "WaitingForGate"
	// ReasonSuspended: spec.suspend prevents a change.
	ReasonSuspended = "Suspended"
)

// Reasons of Available.
const (
	// ReasonMinimumReplicasAvailable: at least spec.replicas minus rollout.maxUnavailable pods serve.
	ReasonMinimumReplicasAvailable = "MinimumReplicasAvailable"
	// ReasonMinimumReplicasUnavailable: fewer pods serve than that.
	ReasonMinimumReplicasUnavailable = "MinimumReplicasUnavailable"
	// ReasonScaledToZero: the application is scaled to zero.
	ReasonScaledToZero = "ScaledToZero"
)

// Reasons of CertificatesValid.
const (
	// ReasonCertificatesLoaded: every certificate is valid.
	ReasonCertificatesLoaded = "CertificatesLoaded"
	// ReasonCertificatePending: no pod has reported the certificates yet.
	ReasonCertificatePending = "CertificatePending"
	// ReasonCertificateInvalid: a Secret is missing, or does not contain a certificate and its key.
	ReasonCertificateInvalid = "CertificateInvalid"
	// ReasonCertificateExpiring: a certificate has expired or expires soon.
	ReasonCertificateExpiring = "CertificateExpiring"
)

// Reasons of Exposed. It also has ReasonApplyFailed and ReasonSuspended.
const (
	// ReasonExposed: the Ingress has an address, and every HTTPRoute and Certificate is accepted.
	ReasonExposed = "Exposed"
	// ReasonDefinitionNotFound: the cluster lacks the CustomResourceDefinition of a declared kind.
	ReasonDefinitionNotFound = "DefinitionNotFound"
	// ReasonRouteNotAccepted: a Gateway does not accept an HTTPRoute.
	ReasonRouteNotAccepted = "RouteNotAccepted"
	// ReasonRouteRefsNotResolved: a Gateway cannot resolve a backend of an HTTPRoute.
	ReasonRouteRefsNotResolved = "RouteRefsNotResolved"
	// ReasonCertificateNotIssued: cert-manager has not issued a Certificate, or reports a problem.
	ReasonCertificateNotIssued = "CertificateNotIssued"
	// ReasonExposurePending: another controller has not reported yet.
	ReasonExposurePending = "ExposurePending"
)

// ReasonReady is the reason of Ready when it is True.
const ReasonReady = "Ready"
