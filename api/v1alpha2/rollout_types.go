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

// Canary tunes the comparison of the first new pods with the old ones. The same holds for
// the first pod that loads a new configuration.
//
// They are judged by the requests that their nginx served over HTTP meanwhile, so
// metrics.requests must not be false. With too few requests to tell, being ready counts.
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
}
