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
	// minReadySeconds is how many seconds a new pod has to be ready before it counts
	// as available. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds *int32 `json:"minReadySeconds,omitempty"`
	// progressDeadlineSeconds is how many seconds a rollout may stand still before it
	// has failed. Default: 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// onFailure is what happens when a rollout fails: when its pods crash, refuse the
	// configuration, cannot be pulled, do worse as a canary, or make no progress in time.
	// Rollback goes back to the last good revision and stays there until the pods, the
	// configuration or rollout are declared otherwise. Hold stops the rollout where it is.
	// Default: Rollback.
	// +optional
	// +kubebuilder:validation:Enum=Rollback;Hold
	OnFailure OnFailure `json:"onFailure,omitempty"`
	// canary lets the first new pods serve for a while, and compares them with the old
	// ones, before the rollout goes on. Unset: no canary.
	// +optional
	Canary *Canary `json:"canary,omitempty"`
	// firstAnswers is what happens when the first answers of a configuration are much worse
	// than those before it: when the share of 4xx and 5xx jumps by more than 25 percentage points.
	// Compare makes the pod go back, and no other pod follows. Ignore is for a change that
	// is meant to refuse requests, such as a maintenance page with status 503. Without
	// request metrics (metrics.requests) nothing is compared. Default: Compare.
	// +optional
	// +kubebuilder:validation:Enum=Compare;Ignore
	FirstAnswers FirstAnswers `json:"firstAnswers,omitempty"`
	// retry tries a rollout that failed again, after a pause. Unset: it is not tried again
	// until the pods, the configuration or rollout are declared otherwise.
	// +optional
	Retry *RolloutRetry `json:"retry,omitempty"`
	// toRevision runs a revision of the history, its pods and its configuration, in place
	// of what the spec says about them: the number of a ControllerRevision of this
	// NginxOperator. Unset: what the spec says.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ToRevision *int64 `json:"toRevision,omitempty"`
	// gates are the names of what has to be met before a rollout begins: a backup, an
	// approval. While one is closed, what runs goes on serving, and status.waitingRollout
	// tells what waits. Somebody opens a gate by the annotation
	// gate.operator.example.com/<name>, with the revision of the rollout as its value. The
	// first rollout of all does not wait, nor does going back after a failure. Unset: a
	// rollout begins at once.
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

// FirstAnswers is what happens when the first answers of a configuration are much worse than those before it.
type FirstAnswers string

// The values of FirstAnswers.
const (
	FirstAnswersCompare FirstAnswers = "Compare"
	FirstAnswersIgnore  FirstAnswers = "Ignore"
)

// RolloutRetry is how a rollout that failed is tried again. The last good revision runs during the
// pauses. With onFailure: Hold nothing is retried.
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

// OnNoEvidence is what happens to a canary that has served for its time without enough requests.
type OnNoEvidence string

// The values of OnNoEvidence.
const (
	OnNoEvidenceWait OnNoEvidence = "Wait"
	OnNoEvidencePass OnNoEvidence = "Pass"
	OnNoEvidenceFail OnNoEvidence = "Fail"
)

// OnRollback is what happens to the canary when rollout.toRevision asks for an earlier revision.
type OnRollback string

// The values of OnRollback.
const (
	OnRollbackSkip OnRollback = "Skip"
	OnRollbackRun  OnRollback = "Run"
)

// Canary tunes the comparison of the first new pods with the old ones. The same holds for
// the first pod that loads a new configuration.
//
// They are judged by the requests that their nginx served over HTTP meanwhile, so
// metrics.requests must not be false: without request metrics being ready for durationSeconds counts.
type Canary struct {
	// replicas is how many new pods there are while they are judged. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`
	// durationSeconds is for how many seconds they have to serve. A canary that is
	// clearly bad ends earlier. Default: 60.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3600
	DurationSeconds *int32 `json:"durationSeconds,omitempty"`
	// maxErrorPercent is by how many percentage points the share of requests that are
	// answered with a status of 500 and above may exceed that of the old pods. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxErrorPercent *int32 `json:"maxErrorPercent,omitempty"`
	// maxLatencyRatio is how many times as long as those of the old pods the slowest
	// requests (the 90th percentile) may take, such as "1.5". Unset: latency is not judged.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 && self <= 100 : self.size() <= 8 && self.matches('^[0-9]+([.][0-9]+)?m?$') && quantity(self).compareTo(quantity('1')) >= 0 && quantity(self).compareTo(quantity('100')) <= 0",message="maxLatencyRatio must be a number from 1 to 100, such as \"1.5\""
	MaxLatencyRatio *resource.Quantity `json:"maxLatencyRatio,omitempty"`
	// onNoEvidence is what happens when too few requests have reached the canary, or the other
	// pods, after durationSeconds. Wait gives it progressDeadlineSeconds more, and then the
	// rollout fails. Pass lets the rollout go on. Fail ends it at once. Applications without
	// HTTP requests, of the stream modules alone for example, need Pass. Default: Wait.
	// +optional
	// +kubebuilder:validation:Enum=Wait;Pass;Fail
	OnNoEvidence OnNoEvidence `json:"onNoEvidence,omitempty"`
	// onRollback is whether there is a canary when toRevision asks for a revision of the
	// history. Skip rolls it out at once: it has served before. Default: Skip.
	// +optional
	// +kubebuilder:validation:Enum=Skip;Run
	OnRollback OnRollback `json:"onRollback,omitempty"`
}
