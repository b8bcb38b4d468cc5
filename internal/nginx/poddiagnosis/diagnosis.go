// Package poddiagnosis finds out why a pod is not ready, and reports it in the words of the source:
// the scheduler, the kubelet, a container's last output, or nginx. Its messages change only when
// the diagnosis does, so that conditions can contain them. It is pure.
package poddiagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
)

// Diagnosis is the reason why a pod is not ready.
type Diagnosis struct {
	// Reason is a reason of the condition UpToDate.
	Reason string
	// Message is what the source reported, without the pod's name, which would change from pass to
	// pass.
	Message string
	// FailAfter is the time from which waiting is pointless; zero: the pod may recover.
	FailAfter time.Time
	// NodeLocal reports whether the node may be the cause, so that the same template may run on
	// others.
	NodeLocal bool
}

// pullTimeout bounds how long pulls of an image may fail, since a registry may be unavailable for a
// moment.
const pullTimeout = time.Minute

// volatile matches the parts of nginx's log lines that differ from run to run.
var volatile = regexp.MustCompile(`^.*?\[([a-z]+)\] \d+#\d+: `)

// mayRecover are parts of nginx's messages about configurations that may still be right: a name
// cannot be resolved at the moment, or a file does not exist yet.
var mayRecover = []string{"host not found", "No such file or directory"}

// Of returns the diagnosis of a pod that is not ready, or nil if no cause is known. instance is the
// status from its instance manager, or nil if that does not answer. revision is the configuration
// that the pod should serve.
func Of(pod *corev1.Pod, instance *instanceapi.Status, revision string) *Diagnosis {
	d := ofPod(pod)
	if d == nil && instance != nil {
		d = ofInstance(pod, instance, revision)
	}
	if d != nil {
		d.Message = anonymous(d.Message, pod)
	}
	return d
}

func ofPod(pod *corev1.Pod) *Diagnosis {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return &Diagnosis{Reason: v1alpha2.ReasonUnschedulable, Message: "no node takes the pod: " + c.Message}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			if d := ofContainer(pod, s); d != nil {
				return d
			}
		}
	}
	return nil
}

func ofContainer(pod *corev1.Pod, s corev1.ContainerStatus) *Diagnosis {
	if d := crash(pod, s); d != nil {
		return d
	}
	w := s.State.Waiting
	if w == nil {
		return nil
	}
	switch w.Reason {
	case "ImagePullBackOff", "ErrImagePull":
		return &Diagnosis{Reason: v1alpha2.ReasonImagePullFailed, Message: pullFailure(pod, s, w), FailAfter: scheduledAt(pod).Add(pullTimeout), NodeLocal: true}
	case "ErrImageNeverPull", "ImageInspectError":
		return &Diagnosis{Reason: v1alpha2.ReasonImagePullFailed, Message: pullFailure(pod, s, w), FailAfter: pod.CreationTimestamp.Time, NodeLocal: true}
	case "InvalidImageName":
		return &Diagnosis{Reason: v1alpha2.ReasonImagePullFailed, Message: pullFailure(pod, s, w), FailAfter: pod.CreationTimestamp.Time}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return &Diagnosis{Reason: v1alpha2.ReasonContainerNotStarted, Message: fmt.Sprintf("container %s cannot be started: %s", s.Name, w.Message), NodeLocal: true}
	}
	return nil
}

// ofInstance returns nginx's errors about the configuration, if they keep the pod from serving at
// all.
func ofInstance(pod *corev1.Pod, instance *instanceapi.Status, revision string) *Diagnosis {
	for _, r := range instance.Revisions {
		if instance.Serving != "" || r.Revision != revision || r.Test != instanceapi.Failed && r.Load != instanceapi.Failed {
			continue
		}
		d := &Diagnosis{Reason: v1alpha2.ReasonConfigRejected, Message: "nginx refused the configuration: " + Problems(r.Problems)}
		if !recoverable(d.Message, instance) {
			d.FailAfter = pod.CreationTimestamp.Time
		}
		return d
	}
	return nil
}

// recoverable reports whether nginx may accept later what it refuses now. A certificate often
// arrives shortly after the configuration that uses it.
func recoverable(message string, instance *instanceapi.Status) bool {
	return slices.ContainsFunc(mayRecover, func(part string) bool { return strings.Contains(message, part) }) ||
		slices.ContainsFunc(instance.Certificates, func(c instanceapi.Certificate) bool { return c.Error != "" })
}

// NotReady returns why a pod is not ready, as far as known. Without a diagnosis, that is the same
// message that any starting pod has.
func NotReady(pod *corev1.Pod, instance *instanceapi.Status) string {
	if instance != nil && instance.NotReady != "" {
		return instance.NotReady
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
			return anonymous(c.Message, pod)
		}
	}
	return ""
}

// scheduledAt returns when the pod was assigned to a node, which could then start to pull its
// images.
func scheduledAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(pod.CreationTimestamp.Time) {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// anonymous removes a pod's name and UID from a message.
func anonymous(message string, pod *corev1.Pod) string {
	for _, identity := range []string{string(pod.UID), pod.Name} {
		if identity != "" {
			message = strings.ReplaceAll(message, identity, "…")
		}
	}
	return message
}

// crash reports a container that ended with an error and is being restarted. One that runs again
// but is not ready is still in a crash loop: the diagnosis must not change with each restart. The
// first restart comes without a pause, so a container that has to wait has crashed again, and
// waiting is pointless.
func crash(pod *corev1.Pod, s corev1.ContainerStatus) *Diagnosis {
	end := s.State.Terminated
	if end == nil && !s.Ready {
		end = s.LastTerminationState.Terminated
	}
	if end == nil || end.ExitCode == 0 {
		return nil
	}
	d := &Diagnosis{
		Reason:  v1alpha2.ReasonContainerCrashed,
		Message: fmt.Sprintf("container %s ended with exit code %d (%s): %s", s.Name, end.ExitCode, end.Reason, LastOutput(end.Message)),
	}
	// The runtime could not start the program at all, for example because it is for another
	// architecture.
	d.NodeLocal = end.Reason == "StartError" || end.Reason == "ContainerCannotRun"
	if s.RestartCount > 0 && s.State.Running == nil {
		d.FailAfter = pod.CreationTimestamp.Time
	}
	return d
}

// LastOutput returns the last lines of a termination message without the time and process ID, which
// differ from run to run: a message must not change while the state does not.
func LastOutput(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	lines = lines[max(0, len(lines)-3):]
	for i, line := range lines {
		lines[i] = volatile.ReplaceAllString(strings.TrimSpace(line), "[$1] ")
	}
	return strings.Join(lines, "; ")
}
