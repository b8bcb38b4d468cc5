package status

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

// trouble is what holds a new pod back.
type trouble struct {
	// reason is one of UpToDate.
	reason string
	// message holds the container's or the scheduler's own words and no pod's name,
	// which would change from pass to pass.
	message string
}

// maxMessage is the length that the API allows for an event's note, in bytes; a
// condition could have more, and nobody would read it.
const maxMessage = 1024

// volatile are the parts of nginx's log lines that differ from run to run.
var volatile = regexp.MustCompile(`^.*?\[([a-z]+)\] \d+#\d+: `)

// findTrouble looks at the pods of the newest template that are not ready. The
// newest trouble wins: an older pod may be in one that is already solved.
func findTrouble(v *view) *trouble {
	var found *trouble
	for i := range v.in.State.Pods {
		pod := &v.in.State.Pods[i]
		if !observe.Ready(pod) && pod.DeletionTimestamp == nil && isNewest(v, pod) {
			if t := podTrouble(pod); t != nil {
				found = t
			}
		}
	}
	return found
}

// isNewest tells whether a pod was made from the template that the Deployment has now.
func isNewest(v *view, pod *corev1.Pod) bool {
	d := v.in.State.Deployment()
	return d != nil && pod.Annotations[naming.AnnotationTemplate] == d.Spec.Template.Annotations[naming.AnnotationTemplate]
}

func podTrouble(pod *corev1.Pod) *trouble {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return &trouble{reason: v1alpha2.ReasonUnschedulable, message: "no node takes the pod: " + c.Message}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			if t := containerTrouble(s); t != nil {
				t.message = anonymous(t.message, pod)
				return t
			}
		}
	}
	return nil
}

func containerTrouble(s corev1.ContainerStatus) *trouble {
	if t := crash(s); t != nil {
		return t
	}
	w := s.State.Waiting
	if w == nil {
		return nil
	}
	switch w.Reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
		return &trouble{reason: v1alpha2.ReasonImagePullFailed,
			message: fmt.Sprintf("container %s: the image %s cannot be pulled: %s", s.Name, s.Image, pullError(w))}
	case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return &trouble{reason: v1alpha2.ReasonContainerNotStarted,
			message: fmt.Sprintf("container %s cannot be started: %s", s.Name, w.Message)}
	}
	return nil
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
// change with each turn of it.
func crash(s corev1.ContainerStatus) *trouble {
	end := s.State.Terminated
	if end == nil && !s.Ready {
		end = s.LastTerminationState.Terminated
	}
	if end == nil {
		return nil
	}
	if end.ExitCode == 0 {
		return nil
	}
	return &trouble{
		reason:  v1alpha2.ReasonContainerCrashed,
		message: fmt.Sprintf("container %s ended with exit code %d (%s): %s", s.Name, end.ExitCode, end.Reason, lastWords(end.Message)),
	}
}

// lastWords are the last lines of a termination message, without what differs from
// run to run (time, process ID): a message must not change while the state does not.
func lastWords(message string) string {
	lines := strings.Split(strings.TrimSpace(message), "\n")
	lines = lines[max(0, len(lines)-3):]
	for i, line := range lines {
		lines[i] = volatile.ReplaceAllString(strings.TrimSpace(line), "[$1] ")
	}
	return strings.Join(lines, "; ")
}

func restarts(pod *corev1.Pod) int32 {
	var n int32
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			n += s.RestartCount
		}
	}
	return n
}

// clip shortens a message to what the note of an event may have, in bytes.
func clip(message string) string {
	const more = "…"
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage - len(more)
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + more
}
