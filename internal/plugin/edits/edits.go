// Package edits has the changes that users make to applications. It is pure.
package edits

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
)

// FieldOwner is the manager of the fields that the plugin sets.
const FieldOwner = "kubectl-nginx"

// Edit is a change of one application.
type Edit struct {
	// Command has the words below kubectl nginx that make it.
	Command string
	// Arguments are the names of the arguments after that of the application. One in brackets may be left out.
	Arguments []string
	// Short and Long say what it does.
	Short, Long string
	// Change changes the NginxOperator, and returns what is done.
	Change func(t Target, args []string) (done string, err error)
	// NeedsHistory is true for changes that depend on the history.
	NeedsHistory bool
	// Exclusive is true for changes that depend on all of the spec, so that one which another client makes meanwhile must not be
	// overwritten.
	Exclusive bool
	// Settles is true for changes after which the application becomes ready again.
	Settles bool
	// WaitsForUnpin is true for changes that do not go live while the application is pinned to a revision.
	WaitsForUnpin bool
}

// NotLive returns why a change that was made does not go live, and the command that makes it live; empty if it goes live.
func (e *Edit) NotLive(t Target) string {
	if !e.WaitsForUnpin || t.pinnedTo() == 0 {
		return ""
	}
	return fmt.Sprintf("%s is pinned to revision %d; to return to what the spec declares: kubectl nginx unpin %s -n %s", t.Name, t.pinnedTo(), t.Name, t.Namespace)
}

// Required returns how many arguments may not be left out.
func (e *Edit) Required() (n int) {
	for _, a := range e.Arguments {
		if !strings.HasPrefix(a, "[") {
			n++
		}
	}
	return n
}

// Patch returns the patch from an object as it was read to what Change has made of it.
func (e *Edit) Patch(before *v1alpha2.NginxOperator) client.Patch {
	if e.Exclusive {
		return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	return client.MergeFrom(before)
}

// Target is an application to change.
type Target struct {
	*v1alpha2.NginxOperator
	// History is empty unless the change needs it.
	History history.History
}

// All returns all changes.
func All() []Edit {
	return []Edit{
		{Command: "scale", Arguments: []string{"REPLICAS"}, Short: "Set the number of pods", Change: scale, Settles: true},
		{Command: "set image", Arguments: []string{"IMAGE"}, Short: "Set the image of nginx", Change: setImage, Settles: true, WaitsForUnpin: true},
		{Command: "restart", Short: "Replace all pods, as a rollout", Change: restart, Settles: true},
		{Command: "rollback", Arguments: []string{"[REVISION]"}, Short: "Return to a revision, and stay there", Change: rollback, NeedsHistory: true, Settles: true,
			Long: "Return to a revision of `kubectl nginx history`, by default to the one that served before the present one, and stay there until " +
				"`kubectl nginx unpin`, whatever else the spec declares."},
		{Command: "abort", Short: "Stop the rollout in progress, and return to the revision that served before", Change: abort, NeedsHistory: true, Settles: true,
			Long: "Stop the rollout in progress, and return to the last revision that every pod has served. The application stays there until `kubectl nginx unpin`, " +
				"which tries what the spec declares again."},
		{Command: "unpin", Short: "Return from a rollback to what the spec declares", Change: unpin, Settles: true},
		{Command: "promote", Short: "Continue a rollout that waits, or end its canary as passed", Change: promote, NeedsHistory: true, Settles: true,
			Long: "Continue a rollout that waits: open all its gates, or, while a canary is being compared, end the comparison as passed."},
		{Command: "approve", Arguments: []string{"GATE"}, Short: "Open a gate for the rollout that waits", Change: approve, Settles: true},
		{Command: "maintenance", Arguments: []string{"on|off"}, Short: "Turn maintenance on or off: every request gets 503", Change: maintenance, Exclusive: true, Settles: true,
			Long: "Turn maintenance on or off. Meanwhile, every request gets 503 with Retry-After. It is a change of the configuration, so no pod is replaced. What the application declared " +
				"before is kept in an annotation. Checks, readiness requests, the canary and gates are off meanwhile."},
		{Command: "suspend", Short: "Leave the application as it is, whatever the spec declares", Change: suspend},
		{Command: "pause", Short: "Stop the rollout where it is, and let no other begin", Change: pause},
		{Command: "resume", Short: "End a pause of rollouts, and a suspension", Change: resume, Settles: true},
	}
}

func scale(n Target, args []string) (string, error) {
	replicas, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil || replicas < 0 {
		return "", fmt.Errorf("REPLICAS is %q: set it to a number from 0", args[0])
	}
	n.Spec.Replicas = new(int32(replicas))
	if replicas == 1 {
		return "scaled to 1 pod", nil
	}
	return fmt.Sprintf("scaled to %d pods", replicas), nil
}

func setImage(n Target, args []string) (string, error) {
	n.Spec.Image = &args[0]
	done := "image set to " + args[0]
	if pinned := n.pinnedTo(); pinned != 0 {
		done += fmt.Sprintf("; the pods stay at revision %d until kubectl nginx unpin %s", pinned, n.Name)
	}
	return done, nil
}

func restart(n Target, _ []string) (string, error) {
	if pinned := n.pinnedTo(); pinned != 0 {
		return "", fmt.Errorf("%s is pinned to revision %d, so its pods would not be replaced: kubectl nginx unpin %s", n.Name, pinned, n.Name)
	}
	n.Spec.ForceRedeploy = new(time.Now().UTC().Format(time.RFC3339))
	return "restarted", nil
}

func rollback(n Target, args []string) (string, error) {
	if len(args) == 0 {
		before := n.before()
		if before == 0 {
			return "", fmt.Errorf("%s has no earlier revision to return to: see kubectl nginx history %s", n.Name, n.Name)
		}
		return n.pin(before), nil
	}
	revision, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || revision < 1 {
		return "", fmt.Errorf("REVISION is %q: set it to a number that `kubectl nginx history %s` lists", args[0], n.Name)
	}
	if n.History.Numbered(revision) == nil {
		return "", fmt.Errorf("%s has no revision %d that every pod has served: see kubectl nginx history %s", n.Name, revision, n.Name)
	}
	return n.pin(revision), nil
}

// before returns the revision to return to; 0: none. While the newest revision is being rolled out, or has failed, that is the
// last one that every pod has served, and otherwise the one that they served before it.
func (t Target) before() int64 {
	var newest, latest *history.Revision
	for i := range t.History {
		r := &t.History[i]
		if newest == nil || r.Number > newest.Number {
			newest = r
		}
		if r.Number != t.Status.Revision && !r.ServedAt.IsZero() && (latest == nil || r.ServedAt.After(latest.ServedAt)) {
			latest = r
		}
	}
	switch {
	case newest != nil && (newest.Stage != "" || newest.State == history.StateFailed):
		return t.Status.Revision
	case latest == nil:
		return 0
	}
	return latest.Number
}

func (t Target) pin(revision int64) string {
	if t.Spec.Rollout == nil {
		t.Spec.Rollout = &v1alpha2.Rollout{}
	}
	paused := t.paused()
	// A pause would keep the pods from returning.
	t.Spec.Rollout.ToRevision, t.Spec.Rollout.Paused = &revision, nil
	done := fmt.Sprintf("returning to revision %d", revision)
	if paused {
		done += "; the pause is over"
	}
	return done
}

func abort(n Target, _ []string) (string, error) {
	switch {
	case n.candidate() == nil && !n.inProgress():
		return "", fmt.Errorf("no rollout of %s is in progress: kubectl nginx rollback %s returns from one that has ended", n.Name, n.Name)
	case n.Status.Revision == 0:
		return "", fmt.Errorf("%s has served no revision yet to which it could return", n.Name)
	}
	return "rollout stopped, " + n.pin(n.Status.Revision), nil
}

// candidate returns the revision that is being rolled out; nil: none.
func (t Target) candidate() *history.Revision {
	for i := range t.History {
		if t.History[i].Stage != "" {
			return &t.History[i]
		}
	}
	return nil
}

// progressing are the reasons of UpToDate while a rollout, of pods or of a configuration, has not ended.
var progressing = []string{
	v1alpha2.ReasonRolloutInProgress, v1alpha2.ReasonConfigLoading, v1alpha2.ReasonCanaryRunning, v1alpha2.ReasonWaitingForGate, v1alpha2.ReasonImagePullFailed,
	v1alpha2.ReasonContainerCrashed, v1alpha2.ReasonContainerNotStarted, v1alpha2.ReasonUnschedulable, v1alpha2.ReasonPodsNotCreated, v1alpha2.ReasonRolloutHeld, v1alpha2.ReasonRolloutPaused,
}

func (t Target) inProgress() bool { return slices.ContainsFunc(progressing, t.waits) }

// waits reports whether the rollout is as far as the reason of UpToDate says.
func (t Target) waits(reason string) bool {
	c := meta.FindStatusCondition(t.Status.Conditions, v1alpha2.ConditionUpToDate)
	return c != nil && c.Reason == reason
}

func promote(n Target, _ []string) (string, error) {
	if waiting := n.Status.WaitingRollout; waiting != nil {
		for _, gate := range waiting.Gates {
			n.annotate(v1alpha2.AnnotationGatePrefix+gate, waiting.Revision)
		}
		return "gates opened: " + strings.Join(waiting.Gates, ", "), nil
	}
	candidate := n.candidate()
	switch {
	case n.waits(v1alpha2.ReasonRolloutPaused):
		return "", fmt.Errorf("the rollout of %s is paused: kubectl nginx resume %s", n.Name, n.Name)
	case candidate != nil && candidate.Stage == history.Canary:
		n.annotate(v1alpha2.AnnotationPromote, strconv.FormatInt(candidate.Number, 10))
		return fmt.Sprintf("revision %d promoted", candidate.Number), nil
	case n.waits(v1alpha2.ReasonCanaryRunning) && n.Status.Config != nil:
		n.annotate(v1alpha2.AnnotationPromote, v1alpha2.PromotedConfig(n.Status.Config.Revision, n.Status.Revision))
		return fmt.Sprintf("configuration %s promoted", n.Status.Config.Revision), nil
	}
	return "", fmt.Errorf("no rollout of %s waits for a gate or runs a canary", n.Name)
}

func (t Target) annotate(key, value string) {
	if t.Annotations == nil {
		t.Annotations = map[string]string{}
	}
	t.Annotations[key] = value
}

func unpin(n Target, _ []string) (string, error) {
	if n.Spec.Rollout == nil || n.Spec.Rollout.ToRevision == nil {
		return "", fmt.Errorf("%s is not pinned to a revision", n.Name)
	}
	n.Spec.Rollout.ToRevision = nil
	n.dropEmptyRollout()
	return "unpinned", nil
}

func suspend(n Target, _ []string) (string, error) {
	n.Spec.Suspend = new(true)
	return "suspended", nil
}

func pause(n Target, _ []string) (string, error) {
	if n.paused() {
		return "", fmt.Errorf("rollouts of %s are paused already: kubectl nginx resume %s", n.Name, n.Name)
	}
	if n.Spec.Rollout == nil {
		n.Spec.Rollout = &v1alpha2.Rollout{}
	}
	n.Spec.Rollout.Paused = new(true)
	return "rollouts paused", nil
}

func (t Target) paused() bool {
	return t.Spec.Rollout != nil && ptr.Deref(t.Spec.Rollout.Paused, false)
}

// pinnedTo is rollout.toRevision; 0: it is not set.
func (t Target) pinnedTo() int64 {
	if t.Spec.Rollout == nil {
		return 0
	}
	return ptr.Deref(t.Spec.Rollout.ToRevision, 0)
}

// heldUp returns what keeps a change of the configuration from going live until the user ends it.
func (t Target) heldUp() error {
	switch {
	case ptr.Deref(t.Spec.Suspend, false):
		return fmt.Errorf("%s is suspended, so this would not go live: kubectl nginx resume %s", t.Name, t.Name)
	case t.paused():
		return fmt.Errorf("rollouts of %s are paused, so this would not go live: kubectl nginx resume %s", t.Name, t.Name)
	case t.pinnedTo() != 0:
		return fmt.Errorf("%s is pinned to revision %d, so this would not go live: kubectl nginx unpin %s", t.Name, t.pinnedTo(), t.Name)
	}
	return nil
}

func resume(n Target, _ []string) (string, error) {
	var ended []string
	if n.paused() {
		ended = append(ended, "pause")
		n.Spec.Rollout.Paused = nil
		n.dropEmptyRollout()
	}
	if ptr.Deref(n.Spec.Suspend, false) {
		ended = append(ended, "suspension")
		n.Spec.Suspend = nil
	}
	if len(ended) == 0 {
		return "", fmt.Errorf("%s is neither paused nor suspended", n.Name)
	}
	return "resumed: end of the " + strings.Join(ended, " and of the "), nil
}

// dropEmptyRollout leaves no field without a content behind.
func (t Target) dropEmptyRollout() {
	if reflect.ValueOf(*t.Spec.Rollout).IsZero() {
		t.Spec.Rollout = nil
	}
}

func approve(n Target, args []string) (string, error) {
	waiting := n.Status.WaitingRollout
	if waiting == nil {
		return "", fmt.Errorf("no rollout of %s waits for a gate", n.Name)
	}
	if !slices.Contains(waiting.Gates, args[0]) {
		return "", fmt.Errorf("the rollout of %s does not wait for the gate %s, but for %s", n.Name, args[0], strings.Join(waiting.Gates, ", "))
	}
	n.annotate(v1alpha2.AnnotationGatePrefix+args[0], waiting.Revision)
	return "gate " + args[0] + " opened", nil
}
