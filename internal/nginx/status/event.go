package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/poddiagnosis"
)

// Event reports one change. Reasons are few and fixed, so that a dashboard can count them.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason in CamelCase.
	Reason string
	// Action is what the operator was doing.
	Action string
	// Note is for people.
	Note string
}

// Reasons of events that are not reasons of a condition.
const (
	EventRolloutStarted    = "RolloutStarted"
	EventRolloutCompleted  = "RolloutCompleted"
	EventCanaryStarted     = "CanaryStarted"
	EventCanaryPassed      = "CanaryPassed"
	EventCanaryFailed      = v1alpha2.ReasonCanaryFailed
	EventConfigApplied     = "ConfigApplied"
	EventConfigFilesUnread = "ConfigFilesUnread"
	EventPodRestarted      = "PodRestarted"
	EventAvailable         = "Available"
	EventUnavailable       = "Unavailable"
	EventCertificateLoaded = "CertificateLoaded"
)

const (
	actionReconcile = "Reconcile"
	actionRollout   = "Rollout"
)

// acceptedAgain reports that nothing blocks the spec any more.
func acceptedAgain(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: v1alpha2.ReasonAccepted, Action: actionReconcile, Note: c.Message}
}

// conditionFalseEvent reports why a condition is False, with the condition's reason.
func conditionFalseEvent(c *metav1.Condition, action string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: c.Reason, Action: action, Note: c.Message}
}

// rolloutWaits reports what the user keeps from being rolled out.
func rolloutWaits(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: c.Reason, Action: actionReconcile, Note: c.Message}
}

func rolloutStarted(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: EventRolloutStarted, Action: actionRollout, Note: c.Message}
}

func rolloutCompleted(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: EventRolloutCompleted, Action: actionRollout, Note: c.Message}
}

func canaryStarted(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: EventCanaryStarted, Action: actionRollout, Note: c.Message}
}

// canaryPassed takes the figures of the comparison, which may be empty.
func canaryPassed(figures string) Event {
	note := "The canary passed"
	if figures != "" {
		note += ": " + figures
	}
	return Event{Type: corev1.EventTypeNormal, Reason: EventCanaryPassed, Action: actionRollout, Note: poddiagnosis.Clip(note)}
}

func canaryPassedWithoutEvidence(figures string) Event {
	return Event{
		Type: corev1.EventTypeWarning, Reason: EventCanaryPassed, Action: actionRollout,
		Note: poddiagnosis.Clip("The canary passed without evidence (rollout.canary.onNoEvidence: Pass): " + figures),
	}
}

func canaryFailed(reason string) Event {
	return Event{
		Type: corev1.EventTypeWarning, Reason: EventCanaryFailed, Action: actionRollout,
		Note: poddiagnosis.Clip("The canary failed: " + reason),
	}
}

func configRejectedEvent(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: v1alpha2.ReasonConfigRejected, Action: actionRollout, Note: c.Message}
}

func configApplied(revision string) Event {
	return Event{
		Type: corev1.EventTypeNormal, Reason: EventConfigApplied, Action: actionRollout,
		Note: fmt.Sprintf("Every pod serves configuration %s", revision),
	}
}

func configFilesUnread(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: EventConfigFilesUnread, Action: actionRollout, Note: c.Message}
}

func certificateLoaded(c v1alpha2.CertificateStatus) Event {
	return Event{
		Type: corev1.EventTypeNormal, Reason: EventCertificateLoaded, Action: actionReconcile,
		Note: fmt.Sprintf("Certificate %s is loaded: serial number %s", c.Name, c.SerialNumber),
	}
}

func becameUnavailable(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: EventUnavailable, Action: actionReconcile, Note: c.Message}
}

func becameAvailable(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: EventAvailable, Action: actionReconcile, Note: c.Message}
}

func becameExposed(c *metav1.Condition) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: v1alpha2.ReasonExposed, Action: actionReconcile, Note: c.Message}
}

func podRestarted(note string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: EventPodRestarted, Action: actionReconcile, Note: note}
}
