package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

// transition is one condition before and after.
type transition struct {
	before, after *metav1.Condition
}

func (t transition) became(status metav1.ConditionStatus) bool {
	return t.after.Status == status && (t.before == nil || t.before.Status != status)
}

func (t transition) was(status metav1.ConditionStatus) bool {
	return t.before != nil && t.before.Status == status
}

func (t transition) changedReason() bool {
	return t.before == nil || t.before.Reason != t.after.Reason
}

// events returns the news between two statuses, one event for each change.
func events(v *view, old, next *v1alpha2.NginxOperatorStatus) []Event {
	of := func(name string) transition {
		return transition{meta.FindStatusCondition(old.Conditions, name), meta.FindStatusCondition(next.Conditions, name)}
	}
	var news []Event
	news = append(news, acceptedEvents(of(v1alpha2.ConditionAccepted))...)
	news = append(news, rolloutEvents(of(v1alpha2.ConditionUpToDate), of(v1alpha2.ConditionAccepted))...)
	news = append(news, canaryEvents(v, of(v1alpha2.ConditionUpToDate))...)
	news = append(news, configEvents(of(v1alpha2.ConditionConfigValid), old, next)...)
	news = append(news, unreadEvents(v, of(v1alpha2.ConditionConfigValid))...)
	news = append(news, certificateEvents(of(v1alpha2.ConditionCertificatesValid), old, next)...)
	news = append(news, exposedEvents(of(v1alpha2.ConditionExposed))...)
	news = append(news, availabilityEvents(of(v1alpha2.ConditionAvailable))...)
	return append(news, restartEvents(v, old, next)...)
}

func acceptedEvents(t transition) []Event {
	switch {
	case t.after.Status == metav1.ConditionFalse && (t.became(metav1.ConditionFalse) || t.changedReason()):
		return []Event{conditionFalseEvent(t.after, actionReconcile)}
	case t.became(metav1.ConditionTrue) && t.before != nil:
		return []Event{acceptedAgain(t.after)}
	}
	return nil
}

func rolloutEvents(t, accepted transition) []Event {
	if t.after.Status == metav1.ConditionTrue {
		return completedEvents(t, accepted)
	}
	if t.was(t.after.Status) && !t.changedReason() || accepted.after.Status == metav1.ConditionFalse {
		// Nothing is new, or the event of Accepted reports it.
		return nil
	}
	switch t.after.Reason {
	case v1alpha2.ReasonSuspended, v1alpha2.ReasonWaitingForGate, v1alpha2.ReasonRolloutPaused:
		return []Event{rolloutWaits(t.after)}
	case v1alpha2.ReasonConfigLoading, v1alpha2.ReasonConfigRejected:
		// The events of ConfigValid and of the loaded configuration report it.
		return nil
	case v1alpha2.ReasonRolloutInProgress, v1alpha2.ReasonCanaryRunning:
		if t.was(metav1.ConditionFalse) && !slices.Contains(reasonsBeforeRollout, t.before.Reason) {
			// A rollout that continues after a fault is the same rollout. A retry is another one.
			return nil
		}
		return []Event{rolloutStarted(t.after)}
	default:
		return []Event{conditionFalseEvent(t.after, actionRollout)}
	}
}

// reasonsBeforeRollout are the reasons for which UpToDate is False before a rollout begins, or is resumed.
var reasonsBeforeRollout = []string{v1alpha2.ReasonWaitingForGate, v1alpha2.ReasonRolloutPaused, v1alpha2.ReasonRolledBack}

// reasonsWithoutRollout are the reasons for which UpToDate is not True although no pod is being replaced.
var reasonsWithoutRollout = []string{
	v1alpha2.ReasonSuspended, v1alpha2.ReasonWaitingForGate, v1alpha2.ReasonRolloutPaused,
	v1alpha2.ReasonConfigLoading, v1alpha2.ReasonConfigRejected, v1alpha2.ReasonInstanceUnreachable,
}

// completedEvents is silent if nothing was rolling out, and only what held a rollout back is gone.
func completedEvents(t, accepted transition) []Event {
	if !t.became(metav1.ConditionTrue) || accepted.was(metav1.ConditionFalse) ||
		t.before != nil && slices.Contains(reasonsWithoutRollout, t.before.Reason) {
		return nil
	}
	return []Event{rolloutCompleted(t.after)}
}

func configEvents(t transition, old, next *v1alpha2.NginxOperatorStatus) []Event {
	switch {
	case t.became(metav1.ConditionFalse):
		return []Event{configRejectedEvent(t.after)}
	case applied(next) && (!applied(old) || old.Config.Revision != next.Config.Revision):
		return []Event{configApplied(next.Config.Revision)}
	}
	return nil
}

// unreadEvents report declared files that nginx does not read, once for each configuration.
func unreadEvents(v *view, t transition) []Event {
	if t.after.Status != metav1.ConditionTrue || v.notIncludedFiles() == "" || t.was(metav1.ConditionTrue) && t.before.Message == t.after.Message {
		return nil
	}
	return []Event{configFilesUnread(t.after)}
}

// applied reports whether every serving pod serves the requested configuration, and pods boot with it. A rollout that
// does not change the configuration leaves it true.
func applied(s *v1alpha2.NginxOperatorStatus) bool {
	return s.Config != nil && s.Config.LoadedReplicas > 0 && s.Config.LoadedReplicas >= s.ReadyReplicas && s.Config.StableRevision == s.Config.Revision
}

func certificateEvents(t transition, old, next *v1alpha2.NginxOperatorStatus) []Event {
	var news []Event
	if t.after != nil && t.after.Status == metav1.ConditionFalse && (t.became(metav1.ConditionFalse) || t.changedReason()) {
		news = append(news, conditionFalseEvent(t.after, actionReconcile))
	}
	for _, c := range next.Certificates {
		was := slices.IndexFunc(old.Certificates, func(o v1alpha2.CertificateStatus) bool { return o.Name == c.Name })
		if c.SerialNumber != "" && (was < 0 || old.Certificates[was].SerialNumber != c.SerialNumber) {
			news = append(news, certificateLoaded(c))
		}
	}
	return news
}

// exposedEvents are about a condition that may be absent.
func exposedEvents(t transition) []Event {
	switch {
	case t.after == nil:
		return nil
	case t.became(metav1.ConditionTrue):
		return []Event{becameExposed(t.after)}
	case t.after.Status == metav1.ConditionFalse && (t.became(metav1.ConditionFalse) || t.changedReason()):
		return []Event{conditionFalseEvent(t.after, actionReconcile)}
	}
	return nil
}

func availabilityEvents(t transition) []Event {
	switch {
	case t.was(metav1.ConditionTrue) && t.became(metav1.ConditionFalse):
		return []Event{becameUnavailable(t.after)}
	case t.was(metav1.ConditionFalse) && t.became(metav1.ConditionTrue):
		return []Event{becameAvailable(t.after)}
	}
	return nil
}

func restartEvents(v *view, old, next *v1alpha2.NginxOperatorStatus) []Event {
	// UpToDate reports a new pod that does not become ready: only the restart of a pod that has served is news.
	if next.Restarts <= old.Restarts || !meta.IsStatusConditionTrue(old.Conditions, v1alpha2.ConditionUpToDate) {
		return nil
	}
	return []Event{podRestarted(lastRestart(v))}
}

// lastRestart returns why the container that ended last was restarted.
func lastRestart(v *view) string {
	var last *corev1.ContainerStateTerminated
	note := "A container was restarted"
	for _, pod := range v.in.State.Pods {
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			end := s.LastTerminationState.Terminated
			if end != nil && (last == nil || last.FinishedAt.Before(&end.FinishedAt)) {
				last = end
				note = fmt.Sprintf("Container %s of pod %s was restarted after exit code %d (%s): %s",
					s.Name, pod.Name, end.ExitCode, end.Reason, poddiagnosis.LastOutput(end.Message))
			}
		}
	}
	return poddiagnosis.Clip(note)
}
