package v1alpha2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout tunes how a change of the pods or of the configuration is rolled out.
//
// +kubebuilder:validation:XValidation:rule="!has(self.progressDeadlineSeconds) || self.progressDeadlineSeconds > (has(self.minReadySeconds) ? self.minReadySeconds : 0)",message="rollout.progressDeadlineSeconds must be greater than rollout.minReadySeconds"
// +kubebuilder:validation:XValidation:rule="!(has(self.maxSurge) && string(self.maxSurge) in ['0', '0%']) || (has(self.maxUnavailable) && !(string(self.maxUnavailable) in ['0', '0%']))",message="rollout.maxSurge and rollout.maxUnavailable cannot both be 0: no pod could ever be replaced (maxUnavailable is 0 when unset)"
type Rollout struct {
	// maxSurge is how many pods may exist above replicas during a rollout: a number
	// or a percentage. Default: 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.size() <= 4 && self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number from 0 to 1000 or a percentage from 0% to 100%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// maxUnavailable is how many of the pods may be missing during a rollout: a
	// number or a percentage. Default: 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.size() <= 4 && self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number from 0 to 1000 or a percentage from 0% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// minReadySeconds is how many seconds a new pod must be ready before it counts as available.
	// Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// progressDeadlineSeconds is for how many seconds a rollout may make no progress before it
	// fails. Default: 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// onFailure is what happens when a rollout fails: when its pods crash, reject the
	// configuration, cannot pull their image, fail as a canary, or make no progress in time.
	// Rollback restores the last good revision, which runs until the pods, the configuration or
	// rollout change in the spec. Hold stops the rollout where it is. Default: Rollback.
	// +optional
	// +kubebuilder:validation:Enum=Rollback;Hold
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// canary compares the first new pods with the old ones for a while before the rollout
	// continues. Unset: no canary.
	// +optional
	Canary *Canary `json:"canary,omitempty"`
	// firstAnswers is what happens when the first responses of a configuration are much worse than
	// those before it: when the share of 4xx and 5xx rises by more than 25 percentage points.
	// Compare makes the pod roll the configuration back, and no other pod loads it. Ignore is for a
	// change that is meant to reject requests, such as a maintenance page with status 503. Without
	// request metrics (metrics.requests) nothing is compared. Default: Compare.
	// +optional
	// +kubebuilder:validation:Enum=Compare;Ignore
	FirstAnswers *FirstAnswers `json:"firstAnswers,omitempty"`
	// retry repeats a failed rollout after a pause. Unset: it is not repeated until the pods, the
	// configuration or rollout change in the spec.
	// +optional
	Retry *RolloutRetry `json:"retry,omitempty"`
	// toRevision runs a revision of the history, its pods and its configuration, in place of what
	// the spec declares: the number of a ControllerRevision of this NginxOperator. Unset: the spec.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ToRevision *int64 `json:"toRevision,omitempty"`
	// paused stops a rollout where it is, or keeps it from beginning, for as long as it is set. The
	// pods of both revisions keep serving, and no deadline runs. A rollout still fails when its pods
	// crash, reject the configuration, cannot pull their image, or perform worse as a canary. Neither
	// the first rollout nor a rollback after a failure is paused. Default: false.
	// +optional
	Paused *bool `json:"paused,omitempty"`
	// gates are the names of conditions that must be met before a rollout starts: a backup, an
	// approval. While one is closed, the current pods keep serving, and status.waitingRollout says
	// what waits. The annotation gate.operator.example.com/<name> opens a gate, with the revision
	// of the rollout as its value. Neither the first rollout nor a rollback after a failure waits.
	// Unset: a rollout starts at once.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Gates []string `json:"gates,omitempty"`
}

// OnFailure is what happens when a rollout fails.
type OnFailure string

// The values of OnFailure.
const (
	OnFailureRollback OnFailure = "Rollback"
	OnFailureHold     OnFailure = "Hold"
)

// FirstAnswers is what happens when the first responses of a configuration are much worse than
// those before it.
type FirstAnswers string

// The values of FirstAnswers.
const (
	FirstAnswersCompare FirstAnswers = "Compare"
	FirstAnswersIgnore  FirstAnswers = "Ignore"
)

// RolloutRetry says how a failed rollout is repeated. The last good revision runs during the
// pauses. With onFailure: Hold nothing is repeated.
type RolloutRetry struct {
	// limit is how many times a rollout is retried. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Limit *int32 `json:"limit,omitempty"`
	// backoff is the pause before each retry. Unset: 60 seconds before the first one, twice as
	// long before each further one, 3600 seconds at most.
	// +optional
	Backoff *RetryBackoff `json:"backoff,omitempty"`
}

// RetryBackoff is the pause before a retry.
// +kubebuilder:validation:XValidation:rule="(has(self.maxSeconds) ? self.maxSeconds : 3600) >= (has(self.initialSeconds) ? self.initialSeconds : 60)",message="maxSeconds (default 3600) must not be less than initialSeconds (default 60)"
type RetryBackoff struct {
	// initialSeconds is the pause before the first retry, in seconds. Default: 60.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	InitialSeconds *int32 `json:"initialSeconds,omitempty"`
	// factor is how many times as long each pause is as the one before. Default: 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Factor *int32 `json:"factor,omitempty"`
	// maxSeconds is the longest pause, in seconds. Default: 3600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	MaxSeconds *int32 `json:"maxSeconds,omitempty"`
}

// OnNoEvidence is what happens to a canary that has served for its duration without enough
// requests.
type OnNoEvidence string

// The values of OnNoEvidence.
const (
	OnNoEvidenceWait OnNoEvidence = "Wait"
	OnNoEvidencePass OnNoEvidence = "Pass"
	OnNoEvidenceFail OnNoEvidence = "Fail"
)

// OnRollback is what happens to the canary when rollout.toRevision names an earlier revision.
type OnRollback string

// The values of OnRollback.
const (
	OnRollbackSkip OnRollback = "Skip"
	OnRollbackRun  OnRollback = "Run"
)

// Canary tunes the comparison of the first new pods with the old ones, and of the first pod that
// loads a new configuration with the others. The comparison uses the requests that nginx served
// over HTTP meanwhile, so metrics.requests must not be false: without request metrics, a canary
// passes if it is ready for durationSeconds.
type Canary struct {
	// replicas is the number of new pods during the comparison. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`
	// durationSeconds is for how many seconds the canary serves. A canary that is clearly bad ends
	// earlier. Default: 60.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3600
	DurationSeconds *int32 `json:"durationSeconds,omitempty"`
	// maxErrorPercent is by how many percentage points the share of responses with a status of 500
	// or above may exceed that of the old pods. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxErrorPercent *int32 `json:"maxErrorPercent,omitempty"`
	// maxLatencyRatio is the maximum ratio of the latency of the slowest requests (90th percentile)
	// to that of the old pods, such as "1.5". Unset: latency is not compared.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 100 : self.size() <= 8 && self.matches('^[0-9]+([.][0-9]+)?m?$') && quantity(self).compareTo(quantity('1')) >= 0 && quantity(self).compareTo(quantity('100')) <= 0",message="maxLatencyRatio must be a number from 1 to 100, such as \"1.5\""
	MaxLatencyRatio *resource.Quantity `json:"maxLatencyRatio,omitempty"`
	// onNoEvidence is what happens when, after durationSeconds, the canary or the other pods have
	// received too few requests. Wait extends the canary by progressDeadlineSeconds, after which
	// the rollout fails. Pass continues the rollout. Fail ends it at once. Applications without
	// HTTP requests, for example with only the stream module, need Pass. Default: Wait.
	// +optional
	// +kubebuilder:validation:Enum=Wait;Pass;Fail
	OnNoEvidence *OnNoEvidence `json:"onNoEvidence,omitempty"`
	// onRollback says whether there is a canary when toRevision names a revision of the history.
	// Skip rolls it out without one, since it has served before. Default: Skip.
	// +optional
	// +kubebuilder:validation:Enum=Skip;Run
	OnRollback *OnRollback `json:"onRollback,omitempty"`
}
