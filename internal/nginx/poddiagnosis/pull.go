package poddiagnosis

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// unauthorized matches errors of registries and container runtimes about missing or wrong credentials.
var unauthorized = regexp.MustCompile(`(?i)authorization failed|no basic auth credentials|unauthorized|access denied|authentication required|403 Forbidden`)

const (
	cannotBePulled = " cannot be pulled: "
	// backOffMessage begins what kubelets up to 1.31 report while they wait for the next attempt, without the cause.
	backOffMessage = "Back-off pulling image "
)

func pullFailure(pod *corev1.Pod, s corev1.ContainerStatus, w *corev1.ContainerStateWaiting) string {
	cause := pullError(w)
	return fmt.Sprintf("container %s: the image %s", s.Name, s.Image) + cannotBePulled + cause + credentials(pod, cause)
}

// KeepPullError returns a message that was reported before if the present one differs only in that it lacks why an image
// cannot be pulled.
func KeepPullError(before, now string) string {
	what, cause, found := strings.Cut(now, cannotBePulled)
	if found && strings.HasPrefix(cause, backOffMessage) && strings.HasPrefix(before, what+cannotBePulled) {
		return before
	}
	return now
}

// credentials says which Secrets to check if a registry refuses the node; otherwise it is empty. The kubelet reports a
// missing Secret only in an event.
func credentials(pod *corev1.Pod, cause string) string {
	if !unauthorized.MatchString(cause) {
		return ""
	}
	var names []string
	for _, secret := range pod.Spec.ImagePullSecrets {
		names = append(names, secret.Name)
	}
	switch len(names) {
	case 0:
		return " (the pod has no credentials for the registry: name a Secret in spec.imagePullSecrets)"
	case 1:
		return fmt.Sprintf(" (check that the Secret %s exists in the namespace and has credentials for this registry)", names[0])
	}
	return fmt.Sprintf(" (check that one of the Secrets %s exists in the namespace and has credentials for this registry)", strings.Join(names, ", "))
}

// pullError returns the container runtime's message, which is the same for a failing pull and for
// the pause after it.
func pullError(w *corev1.ContainerStateWaiting) string {
	message := w.Message
	if _, cause, found := strings.Cut(message, "ErrImagePull: "); found {
		message = cause
	}
	if message == "" {
		return w.Reason
	}
	return strings.TrimSpace(message)
}
