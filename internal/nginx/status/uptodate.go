package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// upToDateChecks are in the order of precedence: what keeps the operator from acting, what failed, what waits,
// and what is under way.
var upToDateChecks = []check{
	suspended, specBlocked, waitingForRecreation, applyFailed, configLost, workloadMissing,
	rolloutHeld, rollingBack, retryScheduled, rolledBack, rolloutPaused, waitsToBegin, interimRollback,
	canaryRunning, podsDiagnosed, podsNotCreated, deadlineExceeded, rolloutInProgress, portsPending,
	servesLastGood, onProbation, everyPodServes, instancesUnreachable, configLoading,
}

func suspended(v *view) *verdict {
	if len(v.in.Pending) == 0 {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonSuspended, "spec.suspend prevents changes to "+strings.Join(v.in.Pending, ", "))
}

func waitingForRecreation(v *view) *verdict {
	if len(v.in.Failed) == 0 || v.in.AwaitingDeletion == "" {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonWaitingForDeletion, v.in.AwaitingDeletion)
}

func applyFailed(v *view) *verdict {
	if len(v.in.Failed) == 0 {
		return nil
	}
	message := fmt.Sprintf("%s %s could not be written", v.in.Failed[0].Kind, v.in.Failed[0].Name)
	if cause := apiMessage(v.in.Failure); cause != "" {
		return falseVerdict(v1alpha2.ReasonApplyFailed, message+": "+cause+"; the operator retries")
	}
	return falseVerdict(v1alpha2.ReasonApplyFailed, message+": the operator retries and logs the error")
}

func configLost(v *view) *verdict {
	if !v.rollout.Lost {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonConfigLost,
		fmt.Sprintf("ConfigMap %s, which pods start with, was deleted or changed by another client: the running pods still serve the last good configuration, but new ones cannot start until nginx accepts the requested one",
			naming.ConfigMap(v.in.Nginx.Name)))
}

func workloadMissing(v *view) *verdict {
	if v.workload() != nil {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRolloutInProgress, fmt.Sprintf("The %s does not exist yet", v.in.Workload))
}

func rolloutHeld(v *view) *verdict {
	if v.in.Selection.Mode != revision.Held {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRolloutHeld,
		"The rollout failed and is held (rollout.onFailure), until the spec changes: "+v.failure())
}

func rollingBack(v *view) *verdict {
	if v.in.Selection.Mode != revision.RolledBack {
		return nil
	}
	remaining := v.remaining()
	if remaining == "" {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRollingBack,
		fmt.Sprintf("The rollout failed; revision %d is being restored, %s: %s", v.in.Selection.RolledBackTo, remaining, v.failure()))
}

func retryScheduled(v *view) *verdict {
	r := v.in.Selection.Retry
	if v.in.Selection.Mode != revision.RolledBack || r == nil {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRolledBack,
		fmt.Sprintf("The rollout failed; revision %d runs again; retry %d of %d is at %s (rollout.retry): %s",
			v.in.Selection.RolledBackTo, r.Number, r.Limit, r.At.UTC().Format(time.RFC3339), v.failure()))
}

func rolledBack(v *view) *verdict {
	if v.in.Selection.Mode != revision.RolledBack {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRolledBack,
		fmt.Sprintf("The rollout failed; revision %d runs again until the spec changes (to retry the same spec, change spec.forceRedeploy): %s",
			v.in.Selection.RolledBackTo, v.failure()))
}

// failedWith reports whether the rollout failed for a reason.
func (v *view) failedWith(reason string) bool {
	return v.in.Selection.Mode.Failed() && v.in.Selection.Failure.Reason == reason
}

// failure returns why the rollout failed.
func (v *view) failure() string {
	return v.in.Selection.Failure.Reason + ": " + v.in.Selection.Failure.Message
}

// interimRollback names the pods that have to be gone before a rollout can begin.
func interimRollback(v *view) *verdict {
	if v.in.Selection.Mode != revision.InterimRollback {
		return nil
	}
	message := "The last good revision runs in the meantime: the rollout starts when the pods of the aborted one are gone"
	if pods := v.in.Selection.Leftovers; len(pods) > 0 {
		are := "is"
		if len(pods) > 1 {
			are = "are"
		}
		message += fmt.Sprintf(": %s %s still there", podNames(pods), are)
	}
	return falseVerdict(v1alpha2.ReasonRolloutInProgress, message)
}

// canaryRunning covers new pods and pods with a new configuration.
func canaryRunning(v *view) *verdict {
	if len(v.in.Selection.Step.AnalyzeAgain) == 0 && len(v.rollout.AnalyzeAgain) == 0 {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonCanaryRunning, v.canaryProgress())
}

// podsDiagnosed reports what holds new pods back.
func podsDiagnosed(v *view) *verdict {
	if v.rolledOut() || v.diagnosis == nil {
		return nil
	}
	return falseVerdict(v.diagnosis.Reason, v.podsUpToDate()+": "+poddiagnosis.MessageWithNodes(*v.diagnosis, v.placed()))
}

// podsNotCreated reports why no pods can be created.
func podsNotCreated(v *view) *verdict {
	refused := v.workload().Refused
	if v.rolledOut() || refused == "" {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonPodsNotCreated, v.rolloutProgress()+": "+refused)
}

func deadlineExceeded(v *view) *verdict {
	if v.rolledOut() || !v.workload().GaveUp {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonProgressDeadlineExceeded,
		v.rolloutProgress()+": the rollout made no progress within rollout.progressDeadlineSeconds")
}

func rolloutInProgress(v *view) *verdict {
	if v.rolledOut() {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRolloutInProgress, v.rolloutProgress())
}

func portsPending(v *view) *verdict {
	if !v.in.KeepsPorts {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonRolloutInProgress, "The Service gets its new ports when no pod with the old ones is left")
}

// servesLastGood reports what the pods serve in place of a configuration that was refused.
func servesLastGood(v *view) *verdict {
	if v.rollout.Phase != rollout.Rejected {
		return nil
	}
	return falseVerdict(v1alpha2.ReasonConfigRejected, v.lastGoodServes())
}

// onProbation keeps the condition from being True before the change can no longer be taken back.
func onProbation(v *view) *verdict {
	if !v.rollout.OnProbation {
		return nil
	}
	reason := v1alpha2.ReasonConfigLoading
	if v.in.Selection.Step.Stage != "" {
		reason = v1alpha2.ReasonRolloutInProgress
	}
	return falseVerdict(reason,
		fmt.Sprintf("Every pod serves configuration %s; the change is complete in at most 5 seconds, unless a pod rolls it back because its workers crash or its responses get worse", v.revision))
}

func everyPodServes(v *view) *verdict {
	switch {
	case v.replicas == 0, v.revision == "":
	case len(v.rollout.Unreachable) > 0:
		return nil
	case v.rollout.Phase != rollout.Settled && v.rollout.Serving < int(v.replicas):
		return nil
	}
	if v.in.Selection.Mode == revision.Pinned {
		return trueVerdict(v1alpha2.ReasonPinned,
			fmt.Sprintf("Every pod runs revision %d, which rollout.toRevision requests", v.in.Selection.PinnedTo))
	}
	return trueVerdict(v1alpha2.ReasonRolledOut, "Every pod is up to date"+v.foreignPods()+v.notCached()+v.earlierImage())
}

// earlierImage warns before an image disappears that new pods need: their template keeps the operator's image of the release
// that rolled it out.
func (v *view) earlierImage() string {
	if v.in.Selection.EarlierImage == "" {
		return ""
	}
	return fmt.Sprintf("; new pods still need the image %s of an earlier release of the operator: keep it in its registry until the next rollout, or run the operator with --renew-pods",
		poddiagnosis.Clip(v.in.Selection.EarlierImage))
}

func instancesUnreachable(v *view) *verdict {
	if len(v.rollout.Unreachable) == 0 {
		return nil
	}
	return unknownVerdict(v1alpha2.ReasonInstanceUnreachable, v.unreachable())
}

func configLoading(v *view) *verdict {
	return falseVerdict(v1alpha2.ReasonConfigLoading,
		fmt.Sprintf("%d of %d pods serve configuration %s%s", v.rollout.Serving, v.replicas, v.revision, v.overdue()))
}

// overdue names the pods that have accepted an order long ago and have not carried it out; empty if there are none.
func (v *view) overdue() string {
	if len(v.rollout.Overdue) == 0 {
		return ""
	}
	names, format := podNames(v.rollout.Overdue), "; %s has not carried out the order it accepted minutes ago, so the other pods no longer wait for it: read the log of %s"
	if len(v.rollout.Overdue) > 1 {
		format = "; %s have not carried out the order they accepted minutes ago, so the other pods no longer wait for them: read the log of %s"
	}
	return fmt.Sprintf(format, names, names)
}

func (v *view) workload() *observe.Workload { return v.in.State.Workload() }

func (v *view) rolledOut() bool { return v.in.State.RolledOut(v.replicas) }

// podsUpToDate counts the pods of the workload's template.
func (v *view) podsUpToDate() string {
	return fmt.Sprintf("%d of %d pods are up to date", v.updatedAndAvailable(), v.replicas)
}

// rolloutProgress is podsUpToDate and what is known to hold the rollout up.
func (v *view) rolloutProgress() string {
	progress := v.podsUpToDate() + v.failedCheck()
	if w := v.workload(); w.Paused {
		progress += fmt.Sprintf(": the %s is paused; resume it: kubectl rollout resume %s/%s", w.Kind, strings.ToLower(w.Kind), w.Object.GetName())
	}
	return progress
}

// remaining is what remains to be rolled back; empty if no pod has anything of the failed revision. Pods that come
// and go later do not count.
func (v *view) remaining() string {
	c, w := v.rollout, v.workload()
	switch {
	case !v.in.State.WorkloadStatusCurrent() || w.Updated < w.Replicas:
		return v.podsUpToDate()
	case c.Phase != rollout.Settled && c.Serving < c.Pods:
		return fmt.Sprintf("%d of %d pods serve its configuration", c.Serving, c.Pods)
	}
	return ""
}

// lastGoodServes returns what the pods serve in place of the requested configuration.
func (v *view) lastGoodServes() string {
	last := "the last good configuration"
	if stable := v.stableRevision(); stable != "" {
		last = fmt.Sprintf("configuration %s, the last good one", stable)
	}
	if v.rollout.Reverted {
		return fmt.Sprintf("The pods serve %s: a pod loaded the requested one and rolled it back", last)
	}
	return fmt.Sprintf("The pods serve %s: nginx refused the requested one", last)
}

func (v *view) rolloutSpec() v1alpha2.Rollout {
	return ptr.Deref(v.in.Nginx.Spec.Rollout, v1alpha2.Rollout{})
}

// updatedAndAvailable returns how many pods of the workload's template serve. kubectl rollout restart leaves the hash of the
// template as it is, so only the workload's controller tells its new pods from the old ones. Its count is used even before it has
// observed the workload: each annotation that a client writes makes it stale, and a 0 in between would show progress that goes back.
func (v *view) updatedAndAvailable() int32 {
	return min(v.readyOf(v.in.State.LiveTemplate()), v.workload().Updated)
}

// readyOf returns how many pods of a template serve.
func (v *view) readyOf(template string) int32 {
	serving := int32(0)
	for i := range v.in.State.Pods {
		if pod := &v.in.State.Pods[i]; pod.DeletionTimestamp == nil && observe.Ready(pod) && observe.TemplateOf(pod) == template {
			serving++
		}
	}
	return serving
}
