// Package trouble tells what holds a pod back, in the words of whoever knows: the
// scheduler, the kubelet, a container's last lines, nginx. Its messages hold nothing that
// changes while the trouble is the same, so that they can stand in conditions. It is pure.
package trouble

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

// Trouble is what holds a pod back.
type Trouble struct {
	// Reason is one of the condition UpToDate.
	Reason string
	// Message holds the words, and no pod's name, which would change from pass to pass.
	Message string
	// GiveUp is from when on waiting is of no use; zero: the trouble may heal.
	GiveUp time.Time
	// NodeLocal tells that the node may be at fault: the same template may run on others.
	NodeLocal bool
}

// pullPatience is how long an image may fail to be pulled: a registry may have been
// away for a moment.
const pullPatience = time.Minute

// volatile are the parts of nginx's log lines that differ from run to run.
var volatile = regexp.MustCompile(`^.*?\[([a-z]+)\] \d+#\d+: `)

// mayHeal are in nginx's words where a configuration may be right: a name has no address at
// the moment, or a file has not been brought yet.
var mayHeal = []string{"host not found", "No such file or directory"}

// Of is what holds a pod back that is not ready; nil when nothing is known to. instance
// is what its instance manager says, nil when it does not answer; revision is the
// configuration that the pod should serve.
func Of(pod *corev1.Pod, instance *instanceapi.Status, revision string) *Trouble {
	t := ofPod(pod)
	if t == nil && instance != nil {
		t = ofInstance(pod, instance, revision)
	}
	if t != nil {
		t.Message = anonymous(t.Message, pod)
	}
	return t
}

func ofPod(pod *corev1.Pod) *Trouble {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return &Trouble{Reason: v1alpha2.ReasonUnschedulable, Message: "no node takes the pod: " + c.Message}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			if t := ofContainer(pod, s); t != nil {
				return t
			}
		}
	}
	return nil
}

func ofContainer(pod *corev1.Pod, s corev1.ContainerStatus) *Trouble {
	if t := crash(pod, s); t != nil {
		return t
	}
	w := s.State.Waiting
	if w == nil {
		return nil
	}
	switch w.Reason {
	case "ImagePullBackOff", "ErrImagePull":
		return &Trouble{Reason: v1alpha2.ReasonImagePullFailed, Message: pullFailure(s, w), GiveUp: scheduledAt(pod).Add(pullPatience), NodeLocal: true}
	case "ErrImageNeverPull", "ImageInspectError":
		return &Trouble{Reason: v1alpha2.ReasonImagePullFailed, Message: pullFailure(s, w), GiveUp: pod.CreationTimestamp.Time, NodeLocal: true}
	case "InvalidImageName":
		return &Trouble{Reason: v1alpha2.ReasonImagePullFailed, Message: pullFailure(s, w), GiveUp: pod.CreationTimestamp.Time}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return &Trouble{Reason: v1alpha2.ReasonContainerNotStarted, Message: fmt.Sprintf("container %s cannot be started: %s", s.Name, w.Message), NodeLocal: true}
	}
	return nil
}

// ofInstance is what nginx says of the configuration, if it keeps it from serving at all.
func ofInstance(pod *corev1.Pod, instance *instanceapi.Status, revision string) *Trouble {
	for _, r := range instance.Revisions {
		if instance.Serving != "" || r.Revision != revision || r.Test != instanceapi.Failed && r.Load != instanceapi.Failed {
			continue
		}
		t := &Trouble{Reason: v1alpha2.ReasonConfigRejected, Message: "nginx refused the configuration: " + Problems(r.Problems)}
		if !healable(t.Message, instance) {
			t.GiveUp = pod.CreationTimestamp.Time
		}
		return t
	}
	return nil
}

// healable tells whether nginx may accept later what it refuses now. A certificate often
// comes a little after what uses it.
func healable(words string, instance *instanceapi.Status) bool {
	return slices.ContainsFunc(mayHeal, func(part string) bool { return strings.Contains(words, part) }) ||
		slices.ContainsFunc(instance.Certificates, func(c instanceapi.Certificate) bool { return c.Error != "" })
}

// NotReady is why a pod is not ready, as far as anybody knows; for a pod that is in no
// trouble it is what one that is starting says as well.
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

// scheduledAt is when a node got the pod, and could begin with its images.
func scheduledAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(pod.CreationTimestamp.Time) {
			return c.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

func pullFailure(s corev1.ContainerStatus, w *corev1.ContainerStateWaiting) string {
	return fmt.Sprintf("container %s: the image %s cannot be pulled: %s", s.Name, s.Image, pullError(w))
}

// pullError is what a failing pull and the pause after it have in common: the
// runtime's own words.
func pullError(w *corev1.ContainerStateWaiting) string {
	message := w.Message
	if _, words, found := strings.Cut(message, "ErrImagePull: "); found {
		message = words
	}
	if message == "" {
		return w.Reason
	}
	return strings.TrimSpace(message)
}

// anonymous takes a pod's name and UID out of a message.
func anonymous(message string, pod *corev1.Pod) string {
	for _, identity := range []string{string(pod.UID), pod.Name} {
		if identity != "" {
			message = strings.ReplaceAll(message, identity, "…")
		}
	}
	return message
}

// crash reports a container that ended with an error and is being restarted. One
// that runs again, but is not ready, still is in a crash loop: the verdict must not
// change with each turn of it. The first restart comes without a pause; whoever has to
// pause has crashed again, and waiting is of no use.
func crash(pod *corev1.Pod, s corev1.ContainerStatus) *Trouble {
	end := s.State.Terminated
	if end == nil && !s.Ready {
		end = s.LastTerminationState.Terminated
	}
	if end == nil || end.ExitCode == 0 {
		return nil
	}
	t := &Trouble{
		Reason:  v1alpha2.ReasonContainerCrashed,
		Message: fmt.Sprintf("container %s ended with exit code %d (%s): %s", s.Name, end.ExitCode, end.Reason, LastWords(end.Message)),
	}
	// The runtime could not even start the program, for example one of another architecture.
	t.NodeLocal = end.Reason == "StartError" || end.Reason == "ContainerCannotRun"
	if s.RestartCount > 0 && s.State.Running == nil {
		t.GiveUp = pod.CreationTimestamp.Time
	}
	return t
}

// LastWords are the last lines of a termination message, without what differs from
// run to run (time, process ID): a message must not change while the state does not.
func LastWords(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	lines = lines[max(0, len(lines)-3):]
	for i, line := range lines {
		lines[i] = volatile.ReplaceAllString(strings.TrimSpace(line), "[$1] ")
	}
	return strings.Join(lines, "; ")
}
