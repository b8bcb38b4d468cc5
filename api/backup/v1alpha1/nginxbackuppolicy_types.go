package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NginxBackupPolicy says which NginxOperators of its namespace are backed up, when, where to, and
// which of these backups are kept.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nginxbackuppolicies,singular=nginxbackuppolicy,shortName=nginxbakpol,categories=all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every target has its backups"
// +kubebuilder:printcolumn:name="Targets",type=integer,JSONPath=`.status.targets`,description="NginxOperators that are backed up"
// +kubebuilder:printcolumn:name="Backups",type=integer,JSONPath=`.status.backups`,description="Good backups that there are"
// +kubebuilder:printcolumn:name="Last",type=date,JSONPath=`.status.lastBackupTime`,description="When the last good backup was taken"
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextScheduleTime`,description="When the schedule takes the next one"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Why it is Ready or not"
// +kubebuilder:printcolumn:name="Destination",type=string,priority=1,JSONPath=`.spec.destination.url`,description="Where the backups are kept"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters long: it is the value of a label of every backup"
type NginxBackupPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the metadata of every Kubernetes object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is backed up, when and where to.
	// +required
	Spec NginxBackupPolicySpec `json:"spec,omitzero"`
	// status is the last observed state of the policy and its targets.
	// +optional
	Status NginxBackupPolicyStatus `json:"status,omitempty"`
}

// NginxBackupPolicyList is a list of NginxBackupPolicies.
//
// +kubebuilder:object:root=true
type NginxBackupPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NginxBackupPolicy `json:"items"`
}

// NginxBackupPolicySpec says what is backed up, when and where to.
//
// +kubebuilder:validation:XValidation:rule="has(self.target) != has(self.selector)",message="set exactly one of target and selector"
type NginxBackupPolicySpec struct {
	// target is the NginxOperator to back up.
	// +optional
	Target *TargetReference `json:"target,omitempty"`
	// selector selects the NginxOperators to back up by their labels. An empty one selects all of
	// the namespace.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || size(self.matchLabels) <= 64",message="at most 64 matchLabels are allowed"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || size(self.matchExpressions) <= 16",message="at most 16 matchExpressions are allowed"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || size(self.matchExpressions) > 16 || self.matchExpressions.all(e, !has(e.values) || size(e.values) <= 64)",message="at most 64 values are allowed in each of matchExpressions"
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// triggers say when a backup is created.
	// +required
	Triggers Triggers `json:"triggers"`
	// destination is where the backups are kept.
	// +required
	Destination Destination `json:"destination,omitzero"`
	// includeSecrets adds the Secrets that an application uses to its backups, encrypted. Unset:
	// only their names, and the fingerprints of certificates.
	// +optional
	IncludeSecrets *IncludeSecrets `json:"includeSecrets,omitempty"`
	// excludeClaims names PersistentVolumeClaims whose files are left out of the backups, such as
	// caches. Unset: the files of all claims of an application are in its backups.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ExcludeClaims []string `json:"excludeClaims,omitempty"`
	// retention says which backups of this policy are kept. Unset: all.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
	// suspend stops the creation and deletion of backups until it is false again.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
}

// Triggers say when a backup is created. A burst of changes results in one backup, of the last
// state.
//
// +kubebuilder:validation:XValidation:rule="has(self.change) || has(self.scale) || has(self.schedule) || has(self.beforeRollout)",message="set at least one of triggers.change, triggers.scale, triggers.schedule and triggers.beforeRollout: with none, no backup would ever be taken"
type Triggers struct {
	// change creates a backup when the spec (except replicas) or the served configuration has
	// changed, and for each target that has none.
	// +optional
	Change *ChangeTrigger `json:"change,omitempty"`
	// scale creates a backup when spec.replicas has changed.
	// +optional
	Scale *ChangeTrigger `json:"scale,omitempty"`
	// schedule creates backups at fixed times.
	// +optional
	Schedule *ScheduleTrigger `json:"schedule,omitempty"`
	// beforeRollout creates a backup before a rollout replaces any pod or configuration, and starts
	// the rollout when the backup is complete. It applies to targets that name the gate in
	// spec.rollout.gates.
	// +optional
	BeforeRollout *BeforeRolloutTrigger `json:"beforeRollout,omitempty"`
}

// DefaultGate is the gate that a policy opens unless it names another.
const DefaultGate = "backup"

// BeforeRolloutTrigger creates a backup while a rollout waits at a gate. The gate opens when every
// policy that names it, selects the target and is not suspended has its backup.
type BeforeRolloutTrigger struct {
	// gate of spec.rollout.gates.
	// +optional
	// +default="backup"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Gate string `json:"gate,omitempty"`
}

// ChangeTrigger creates a backup after a change.
type ChangeTrigger struct {
	// settleSeconds is how many seconds the target must be unchanged before the backup is created.
	// A running rollout is awaited. A target that keeps changing is backed up after ten times as
	// long.
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	SettleSeconds *int32 `json:"settleSeconds,omitempty"`
}

// ScheduleTrigger creates backups at fixed times.
type ScheduleTrigger struct {
	// cron is when, in five fields: minute, hour, day of the month, month, day of the week
	// (such as "0 3 * * *": daily at three), or one of @hourly, @daily, @weekly, @monthly.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ')",message="the time zone of a schedule belongs in timeZone"
	// +kubebuilder:validation:XValidation:rule="self.matches('^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$') || self.matches('^[ \\t]*[^ \\t@]+([ \\t]+[^ \\t@]+){4}[ \\t]*$')",message="cron needs five fields: minute, hour, day of the month, month and day of the week, such as \"0 3 * * *\""
	Cron string `json:"cron,omitempty"`
	// timeZone is the time zone of cron, as in the IANA database, such as Europe/Berlin.
	// +optional
	// +default="Etc/UTC"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+/-]+$`
	TimeZone string `json:"timeZone,omitempty"`
}

// Retention says which backups are kept: those that at least one rule keeps. The last good backup
// of a target is always kept.
//
// +kubebuilder:validation:XValidation:rule="has(self.keepLast) || has(self.keepDays)",message="set keepLast, keepDays or both"
type Retention struct {
	// keepLast is how many of the newest good backups of each target are kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	KeepLast *int32 `json:"keepLast,omitempty"`
	// keepDays is for how many days good backups are kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=36500
	KeepDays *int32 `json:"keepDays,omitempty"`
}

// NginxBackupPolicyStatus is the last observed state of a policy and its targets.
type NginxBackupPolicyStatus struct {
	// conditions are Accepted, Ready and Listed. Wait for Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the metadata.generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// targets is the number of NginxOperators that the policy backs up.
	// +optional
	Targets int32 `json:"targets"`
	// backups is the number of good backups of this policy.
	// +optional
	Backups int32 `json:"backups"`
	// lastBackupTime is when the last good backup was completed.
	// +optional
	LastBackupTime *metav1.Time `json:"lastBackupTime,omitempty"`
	// nextScheduleTime is the next scheduled time.
	// +optional
	NextScheduleTime *metav1.Time `json:"nextScheduleTime,omitempty"`
	// lastListingTime is when the destination was last listed for backups without an object.
	// +optional
	LastListingTime *metav1.Time `json:"lastListingTime,omitempty"`
}
