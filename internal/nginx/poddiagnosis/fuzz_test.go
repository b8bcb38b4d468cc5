package poddiagnosis

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/nginx-operator/internal/instanceapi"
)

// FuzzOf: whatever the scheduler, the kubelet, a terminating container or an instance reports about
// a pod, the diagnosis contains neither the pod's name nor its UID, and the condition's message is
// one bounded line.
func FuzzOf(f *testing.F) {
	f.Add("web-1", "uid-1", "Error", "2026/11/21 08:00:00 [emerg] 12#12: bind() to 0.0.0.0:80 failed\nweb-1 is gone", "nginx")
	f.Add("a", "b", "ImagePullBackOff", `Back-off pulling image "x": ErrImagePull: rpc error`, "c")
	f.Add("web-1", "web", "CreateContainerError", "\x1b[31m\x00\u202eweb-1\u0085\u2028", "nginx")
	f.Add("web-1", "u", "Unschedulable", strings.Repeat("\U0001F600", 2000), "nginx")
	f.Fuzz(func(t *testing.T, name, uid, reason, message, container string) {
		if len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsDNS1123Subdomain(uid)) > 0 {
			return
		}
		for _, pod := range withDiagnosis(reason, message, container) {
			pod.Name, pod.UID = name, types.UID(uid)
			instance := &instanceapi.Status{Revisions: []instanceapi.Revision{{Revision: "r", Test: instanceapi.Failed,
				Problems: []instanceapi.Problem{{File: container, Line: 3, Message: message}}}}}
			found := Of(pod, instance, "r")
			if found == nil {
				t.Fatalf("nothing is wrong with %+v", pod.Status)
			}
			if strings.Contains(found.Message, name) || strings.Contains(found.Message, uid) {
				t.Errorf("%q names the pod %s, %s", found.Message, name, uid)
			}
			checkLine(t, Clip(found.Message))
			checkLine(t, Clip(NotReady(pod, &instanceapi.Status{NotReady: message})))
		}
	})
}

// withDiagnosis returns pods with each kind of diagnosis.
func withDiagnosis(reason, message, container string) []*corev1.Pod {
	waiting := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: reason, Message: message}}
	return []*corev1.Pod{
		{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}}},
		{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, Image: message, State: waiting}}}},
		{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: container, State: ended}}}},
		{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: container, State: waiting, LastTerminationState: ended, RestartCount: 2}}}},
		{},
	}
}

// checkLine checks that a line fits, is text, and has no effect on a terminal or log that it is
// written to.
func checkLine(t *testing.T, line string) {
	t.Helper()
	if len(line) > MaxMessage {
		t.Errorf("it has %d bytes", len(line))
	}
	if !utf8.ValidString(line) {
		t.Errorf("it is not UTF-8: %q", line)
	}
	if strings.ContainsFunc(line, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }) {
		t.Errorf("it has what cannot be shown: %q", line)
	}
}
