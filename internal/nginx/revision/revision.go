// Package revision selects the revision of an application that runs, and decides the next step of its
// rollout. It is pure: it reads the resource, the observed state and the time, and returns a Selection.
//
// Select answers these questions, in this order:
//
//  1. Which revision does the spec request? rollout.toRevision may name one of the history.
//  2. Did its rollout fail? Then the last good revision runs instead, or the failed one is held.
//  3. Is a rollout that was given up still running? Then the last good revision runs until its pods are gone.
//  4. Are gates closed, or rollouts paused? Then the current revision continues.
//
// The rollout of the selected revision then advances by one step: package rollout decides which, and the
// history records it.
package revision

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/podsettings"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/nginxconf"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/podtemplate"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// Options are the operator's own settings.
type Options struct {
	// DefaultImage runs where spec.image is unset.
	DefaultImage string
	// InstanceImage contains the instance manager. An init container copies it into every pod.
	InstanceImage string
	// Pods are what the cluster requires of every pod.
	Pods podsettings.Settings
	// IPFamily is the cluster's first address family; empty: it is unknown.
	IPFamily corev1.IPFamily
	// Claims are the names of the volume claims of a StatefulSet.
	Claims []string
}

func (o Options) images() podtemplate.Options {
	return podtemplate.Options{DefaultImage: o.DefaultImage, InstanceImage: o.InstanceImage, Settings: o.Pods, Claims: o.Claims}
}

// Input is what Select decides from.
type Input struct {
	Nginx   *v1alpha2.NginxOperator
	State   observe.State
	Options Options
	// Now is the time of the pass.
	Now time.Time
	// Keys are the operator's public keys, the newest first; empty while they are unknown.
	Keys []instanceapi.PublicKey
	// Renew reports whether the pods may be given this release's own template.
	Renew bool
	// Verdict is the result of the canary analysis of this pass; nil if there was none.
	Verdict *canary.Verdict
	// Waits is why no rollout may begin now; empty: it may.
	Waits string
	// Invalid is why the spec must not be carried out; empty: it may.
	Invalid string
}

// Mode is why a revision runs.
type Mode string

// The modes.
const (
	// Normal: the revision that the spec requests runs.
	Normal Mode = "Normal"
	// Pinned: the revision that rollout.toRevision requests runs, or the last good one if the history has no such
	// revision.
	Pinned Mode = "Pinned"
	// Waiting: the rollout of the requested revision has not begun, because gates are closed, rollouts are paused, or others come
	// first.
	Waiting Mode = "Waiting"
	// WaitingRollback: the rollout of the requested revision waits, and what runs in the meantime is put back first.
	WaitingRollback Mode = "WaitingRollback"
	// RolledBack: the requested revision failed; the last good one runs.
	RolledBack Mode = "RolledBack"
	// Held: the requested revision failed, and rollout.onFailure keeps its pods for inspection.
	Held Mode = "Held"
	// InterimRollback: the last good revision runs until the pods of an abandoned rollout are gone.
	InterimRollback Mode = "InterimRollback"
)

// ReturnsToEarlier reports whether an earlier revision runs in place of the requested one, which must not
// run now.
func (m Mode) ReturnsToEarlier() bool {
	return m == RolledBack || m == InterimRollback || m == WaitingRollback
}

// Failed reports whether the requested revision failed: Selection.Failure says why.
func (m Mode) Failed() bool { return m == RolledBack || m == Held }

// Configuration is a configuration and where it comes from.
type Configuration struct {
	nginxconf.Config
	// Source is the version of the referenced ConfigMap that holds these very files; empty when they
	// come from elsewhere.
	Source string
}

// Revision is a pod template and the configuration that belongs to it.
type Revision struct {
	// Name of its ControllerRevision.
	Name string
	// Spec is the part of the spec that the revision is made of, Inputs the hash of that.
	Spec   v1alpha2.NginxOperatorSpec
	Inputs string
	// Template is that of the pods, Hash is its hash.
	Template *podtemplate.Template
	Hash     string
	// Protocol is the version of the wire format of its instance manager.
	Protocol int
	// Config has an empty revision when there is none: what needs one is then left as it is.
	Config Configuration
}

// Selection is which revision runs, and the next step of its rollout.
type Selection struct {
	Mode Mode
	// Requested is the revision that the spec requests, Run the one that runs. They differ after a
	// failure, and while a rollout waits.
	Requested, Run Revision
	// PinnedTo is the number of the requested revision if rollout.toRevision is set: the named one, or the last good
	// one if the history has no such revision. 0 if the spec itself is requested.
	PinnedTo int64
	// Attempt identifies the request.
	Attempt string
	// Failure is why the requested revision failed; nil unless Mode.Failed.
	Failure *history.Failure
	// RolledBackTo is the number of the revision that runs after a failure; 0 in all other modes.
	RolledBackTo int64
	// Paused reports whether the rollout of what runs must not continue.
	Paused bool
	// Waiting is set in the mode of this name.
	Waiting *WaitingRollout
	// Retry is when the revision that failed is tried again; nil if it is not.
	Retry *Retry
	// EarlierImage is the image with the instance manager that the live pods need, if it is not that of this release; empty
	// if it is.
	EarlierImage string
	// Leftovers are the pods that an interim rollback waits for, by name.
	Leftovers []string

	Progress
}

// Progress is how far the selected revision has come, and what to do next.
type Progress struct {
	// Began is the record of the template's rollout; nil if none is under way. Step is how far it is.
	Began *history.Revision
	Step  rollout.Step
	// Rollout is how far its configuration is.
	Rollout rollout.Decision
	// Canary is how the first pods are compared with the others; nil if the rollout has no canary.
	Canary *rollout.Canary
	// CanaryAnalysis is the comparison to make before the selection is carried out; nil if there is none.
	CanaryAnalysis *CanaryAnalysis
	// Stable is the configuration that pods boot from, Next the candidate.
	Stable nginxconf.Config
	Next   Configuration
	// Refusal is the value of the candidate's annotation config-refused; empty if it was not refused for good.
	Refusal string
	// Settled reports whether every pod is of the template, and serves.
	Settled bool
	// Records are the writes to the history. They precede all other writes.
	Records []Record
	// PodAnnotations are the annotations to write to pods after the objects were applied.
	PodAnnotations []PodAnnotations
	// Orders are the orders to send to pods after the objects were applied.
	Orders []Order
	// Trust is the file by which pods recognize the operator's orders; empty if they take none.
	Trust string
	// RequeueAfter is when to reconcile again without an event; 0 if never.
	RequeueAfter time.Duration
}

// Blocked is why a spec cannot be carried out in full. The zero value means that nothing blocks it.
type Blocked struct {
	// Reason is a reason of the condition Accepted.
	Reason string
	// Message names the thing to fix.
	Message string
}

// Select returns the selection for an input. If the user has to fix something, Blocked says what; the
// configuration is then left as it is.
func Select(in Input) (*Selection, Blocked, error) {
	requested, blocked := in.requestedConfig()
	selection, refused, err := in.selectRevision(requested, blocked.Reason != "")
	if err != nil {
		return nil, blocked, err
	}
	if blocked.Reason == "" || in.Invalid != "" {
		blocked = refused
	}
	selection.EarlierImage = in.earlierImage()
	p := &progress{Input: in, selection: &selection}
	selection.Progress, err = p.advance()
	return &selection, blocked, err
}

// earlierImage returns the image of the live pods' instance manager if it is not that of this release.
func (in *Input) earlierImage() string {
	live := in.State.Workload()
	if live == nil {
		return ""
	}
	if image := podtemplate.LiveInstanceImage(live.Template); image != in.Options.InstanceImage {
		return image
	}
	return ""
}
