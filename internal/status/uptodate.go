package status

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/rollout"
	"example.com/nginx-operator/internal/trouble"
)

func upToDate(v *view) judgement {
	d := v.in.State.Deployment()
	detour, elsewhere := v.detour(d)
	switch {
	case len(v.in.Pending) > 0:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonSuspended,
			"spec.suspend holds back changes of " + strings.Join(v.in.Pending, ", ")}
	case v.in.Blocked.Reason != "":
		return judgement{metav1.ConditionFalse, v.in.Blocked.Reason, v.in.Blocked.Message}
	case len(v.in.Failed) > 0:
		return v.notWritten()
	case v.rollout.Lost:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigLost,
			fmt.Sprintf("ConfigMap %s, which pods start with, was deleted or changed by somebody: the pods that run still serve the last good configuration, new ones cannot start until nginx accepts the one asked for",
				naming.ConfigMap(v.in.Nginx.Name))}
	case d == nil:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonRolloutInProgress, "The Deployment does not exist yet"}
	case elsewhere:
		return detour
	case v.onTrial():
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonCanaryRunning, v.canaryProgress()}
	case v.in.Plan != nil && v.in.Plan.KeepsPorts && v.in.State.RolledOut(v.replicas):
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonRolloutInProgress, "The Service gets its ports when the pods that have others are gone"}
	case v.in.State.RolledOut(v.replicas):
		return v.configUpToDate()
	}
	return v.progress(d)
}

// detour tells why another revision runs than the one asked for, and whether one does, or is held.
func (v *view) detour(d *appsv1.Deployment) (judgement, bool) {
	plan := v.in.Plan
	switch {
	case plan == nil || d == nil:
		return judgement{}, false
	case plan.Failure != nil:
		return v.failedRollout(d, plan.Failure), true
	case plan.Waiting != nil:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonWaitingForGate, v.waitingForGate(plan.Waiting)}, true
	case plan.Retreat != nil:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonRolloutInProgress, retreating(plan.Retreat)}, true
	}
	return judgement{}, false
}

// notWritten tells why an object could not be written yet.
func (v *view) notWritten() judgement {
	if v.in.Leaving != "" {
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonWaitingForDeletion, v.in.Leaving}
	}
	return judgement{metav1.ConditionFalse, v1alpha2.ReasonApplyFailed,
		fmt.Sprintf("%s %s could not be written yet: the operator tries again, and its log tells why", v.in.Failed[0].Kind, v.in.Failed[0].Name)}
}

// progress tells how far a rollout has come, and what holds it up.
func (v *view) progress(d *appsv1.Deployment) judgement {
	progress := fmt.Sprintf("%d of %d pods are up to date", v.updatedAndAvailable(d), v.replicas)
	if v.trouble != nil {
		return judgement{metav1.ConditionFalse, v.trouble.Reason, progress + ": " + trouble.OnNodes(*v.trouble, v.placed())}
	}
	progress += v.failedCheck()
	if d.Spec.Paused {
		progress += fmt.Sprintf(": somebody has paused the Deployment, kubectl rollout resume deployment/%s lets it go on", d.Name)
	}
	if j, failed := stuckRollout(d, progress); failed {
		return j
	}
	return judgement{metav1.ConditionFalse, v1alpha2.ReasonRolloutInProgress, progress}
}

// failedRollout tells what failed, what runs instead, and what to do.
func (v *view) failedRollout(d *appsv1.Deployment, f *history.Failure) judgement {
	if v.in.Plan.Back == 0 {
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonRolloutHeld,
			fmt.Sprintf("The rollout failed and is held (rollout.onFailure), until the spec changes: %s: %s", f.Reason, f.Message)}
	}
	if left := v.left(d); left != "" {
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonRollingBack,
			fmt.Sprintf("The rollout failed; revision %d is being put back, %s: %s: %s", v.in.Plan.Back, left, f.Reason, f.Message)}
	}
	if r := v.in.Plan.Retry; r != nil {
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonRolledBack,
			fmt.Sprintf("The rollout failed; revision %d runs again; retry %d of %d is at %s (rollout.retry): %s: %s",
				v.in.Plan.Back, r.Number, r.Limit, r.At.UTC().Format(time.RFC3339), f.Reason, f.Message)}
	}
	return judgement{metav1.ConditionFalse, v1alpha2.ReasonRolledBack,
		fmt.Sprintf("The rollout failed; revision %d runs again, until the spec changes (to try the same again, change spec.forceRedeploy): %s: %s", v.in.Plan.Back, f.Reason, f.Message)}
}

// left tells how far the way back is, as long as pods have something of what failed; empty: none does. That
// pods come and go afterwards is no way back.
func (v *view) left(d *appsv1.Deployment) string {
	c := v.rollout
	switch {
	case !v.in.State.Observed() || d.Status.UpdatedReplicas < d.Status.Replicas:
		return fmt.Sprintf("%d of %d pods are up to date", v.updatedAndAvailable(d), v.replicas)
	case c.Phase != rollout.Settled && c.Serving < c.Pods:
		return fmt.Sprintf("%d of %d pods serve its configuration", c.Serving, c.Pods)
	}
	return ""
}

// onTrial tells whether new pods, or pods with a new configuration, are canaries.
func (v *view) onTrial() bool {
	if v.in.Plan == nil {
		return false
	}
	return len(v.in.Plan.Step.Judge) > 0 || len(v.rollout.Judge) > 0
}

// configUpToDate judges whether pods of the newest template serve the configuration
// asked for.
func (v *view) configUpToDate() judgement {
	d := v.rollout
	switch {
	case d.Phase == rollout.Rejected:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, v.lastGoodServes()}
	case d.OnProbation:
		return v.onProbation()
	case v.replicas == 0 || v.revision == "" || d.Phase == rollout.Settled:
		return v.everyPod()
	case len(d.Unreachable) > 0:
		return judgement{metav1.ConditionUnknown, v1alpha2.ReasonInstanceUnreachable, v.silent(d)}
	case d.Serving >= int(v.replicas):
		return v.everyPod()
	default:
		return judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigLoading,
			fmt.Sprintf("%d of %d pods serve configuration %s", d.Serving, v.replicas, v.revision)}
	}
}

// lastGoodServes tells what the pods serve in place of what was asked for.
func (v *view) lastGoodServes() string {
	last := "the last good configuration"
	if stable := v.stableRevision(); stable != "" {
		last = fmt.Sprintf("configuration %s, the last good one", stable)
	}
	if v.rollout.TakenBack {
		return fmt.Sprintf("The pods serve %s: a pod loaded the one asked for and went back", last)
	}
	return fmt.Sprintf("The pods serve %s: nginx refused the one asked for", last)
}

// onProbation is not the end yet: what waits for a change to be done must not be told so before it can no more be taken back.
func (v *view) onProbation() judgement {
	j := judgement{metav1.ConditionFalse, v1alpha2.ReasonConfigLoading,
		fmt.Sprintf("Every pod serves configuration %s; the change is done in at most 5 seconds, unless a pod goes back because its workers crash or its answers get worse", v.revision)}
	if v.in.Plan.Step.Stage != "" {
		j.reason = v1alpha2.ReasonRolloutInProgress
	}
	return j
}

func (v *view) everyPod() judgement {
	if v.in.Plan != nil && v.in.Plan.Pinned {
		return judgement{metav1.ConditionTrue, v1alpha2.ReasonPinned,
			fmt.Sprintf("Every pod is of revision %d, as rollout.toRevision asks", ptr.Deref(v.rolloutSpec().ToRevision, 0))}
	}
	return judgement{metav1.ConditionTrue, v1alpha2.ReasonRolledOut, "Every pod is up to date" + v.strangers()}
}

// strangers tells of pods that are served from and that nobody looks after; empty: there are none.
func (v *view) strangers() string {
	names := v.in.State.Strangers
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s not of the Deployment, but labelled %s=%s, so the Service sends requests there as well: take the label away, or delete what is not needed",
		listed(names), naming.LabelApplication, v.in.Nginx.Name)
}

// listed names pods, and of many the first.
func listed(names []string) string {
	const most = 3
	switch {
	case len(names) == 1:
		return "pod " + names[0] + " is"
	case len(names) > most:
		return fmt.Sprintf("pods %s and %d more are", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "pods " + strings.Join(names, ", ") + " are"
}

// retreating tells what has to be gone before a rollout can begin.
func retreating(r *desired.Retreat) string {
	const words = "The last good revision runs again for a moment: the rollout begins when what is left of an earlier one, which was given up, is gone"
	if len(r.Pods) == 0 {
		return words
	}
	return words + ": " + listed(r.Pods) + " still there"
}

func (v *view) rolloutSpec() v1alpha2.Rollout {
	return ptr.Deref(v.in.Nginx.Spec.Rollout, v1alpha2.Rollout{})
}

// stuckRollout reads what the Deployment controller says of a rollout whose pods
// do not tell themselves what is wrong.
func stuckRollout(d *appsv1.Deployment, progress string) (judgement, bool) {
	for _, c := range d.Status.Conditions {
		switch {
		case c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue:
			return judgement{metav1.ConditionFalse, v1alpha2.ReasonPodsNotCreated, progress + ": " + c.Message}, true
		case c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded":
			return judgement{metav1.ConditionFalse, v1alpha2.ReasonProgressDeadlineExceeded,
				progress + ": the rollout made no progress within rollout.progressDeadlineSeconds"}, true
		}
	}
	return judgement{}, false
}

func (v *view) updatedAndAvailable(d *appsv1.Deployment) int32 {
	if !v.in.State.Observed() {
		return 0
	}
	// Pods that are not available may be old ones or new ones; count them as new,
	// so that the figure never claims too much.
	unavailable := d.Status.Replicas - d.Status.AvailableReplicas
	return max(0, d.Status.UpdatedReplicas-unavailable)
}
