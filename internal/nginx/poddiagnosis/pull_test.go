package poddiagnosis

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPullFailure(t *testing.T) {
	const (
		noCredentials = "pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials"
		notFound      = "registry.example.com/nginx:2: not found"
	)
	tests := map[string]struct {
		cause   string
		secrets []string
		// want is the end of the message.
		want string
	}{
		"not there":                     {notFound, []string{"registry"}, notFound},
		"no credentials":                {noCredentials, nil, "(the pod has no credentials for the registry: name a Secret in spec.imagePullSecrets)"},
		"a Secret that may be missing":  {noCredentials, []string{"registry"}, "(check that the Secret registry exists in the namespace and has credentials for this registry)"},
		"Secrets that may be missing":   {noCredentials, []string{"a", "b"}, "(check that one of the Secrets a, b exists in the namespace and has credentials for this registry)"},
		"wrong credentials":             {"unexpected status from HEAD request: 401 Unauthorized", []string{"registry"}, "credentials for this registry)"},
		"during the pause after a pull": {`Back-off pulling image "x": ErrImagePull: ` + noCredentials, []string{"registry"}, "credentials for this registry)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			for _, secret := range tt.secrets {
				pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
			}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "nginx", Image: "nginx:1", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: tt.cause},
			}}}
			if got := Of(pod, nil, "r1"); got == nil || !strings.HasSuffix(got.Message, tt.want) {
				t.Errorf("it finds %+v", got)
			}
		})
	}
}

// TestKeepPullError: kubelets up to 1.31 leave out the cause while they wait for the next attempt.
func TestKeepPullError(t *testing.T) {
	const cause = "0 of 1 pods are up to date: container nginx: the image a cannot be pulled: not found"
	const pause = `0 of 1 pods are up to date: container nginx: the image a cannot be pulled: Back-off pulling image "a"`
	for name, tt := range map[string]struct{ before, now, want string }{
		"the same failure":   {cause, pause, cause},
		"nothing before":     {"", pause, pause},
		"another cause":      {cause, strings.ReplaceAll(cause, "not found", "refused"), strings.ReplaceAll(cause, "not found", "refused")},
		"another image":      {cause, strings.ReplaceAll(pause, "the image a", "the image b"), strings.ReplaceAll(pause, "the image a", "the image b")},
		"something else now": {cause, "container nginx crashed", "container nginx crashed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := KeepPullError(tt.before, tt.now); got != tt.want {
				t.Errorf("it is %q, want %q", got, tt.want)
			}
		})
	}
}
