package poddiagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
)

var created = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func waiting(reason string, restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "nginx", Image: "nginx:1", RestartCount: restarts,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "words of the kubelet"}}}
}

func ended(now corev1.ContainerState, code, restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "nginx", RestartCount: restarts, State: now,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: "2026/11/21 08:00:00 [emerg] 7#7: bind() failed"}}}
}

var (
	running = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	backOff = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
)

// refuses returns the status of an instance that has rejected a revision. serving may be empty.
func refuses(serving, revision, words string) *instanceapi.Status {
	return &instanceapi.Status{Serving: serving, Revisions: []instanceapi.Revision{{
		Revision: revision, Test: instanceapi.Failed, Problems: []instanceapi.Problem{{File: "a.conf", Line: 3, Message: words}},
	}}}
}

func withoutCertificate(i *instanceapi.Status) *instanceapi.Status {
	i.Certificates = []instanceapi.Certificate{{Name: "shop", Error: "the Secret is missing"}}
	return i
}

// The age of the pod at which waiting becomes pointless.
const (
	never   = -1
	atOnce  = 0
	aMinute = time.Minute
)

func TestOf(t *testing.T) {
	tests := map[string]struct {
		container corev1.ContainerStatus
		instance  *instanceapi.Status
		// reason is empty if there is no diagnosis.
		reason, words string
		giveUp        time.Duration
	}{
		"an image that may come":        {waiting("ImagePullBackOff", 0), nil, v1alpha2.ReasonImagePullFailed, "nginx:1 cannot be pulled: words of the kubelet", aMinute},
		"no name of an image":           {waiting("InvalidImageName", 0), nil, v1alpha2.ReasonImagePullFailed, "words of the kubelet", atOnce},
		"a reference that may come":     {waiting("CreateContainerConfigError", 0), nil, v1alpha2.ReasonContainerNotStarted, "words of the kubelet", never},
		"it is being created":           {waiting("ContainerCreating", 0), nil, "", "", never},
		"it ended once, and runs again": {ended(running, 1, 1), nil, v1alpha2.ReasonContainerCrashed, "exit code 1 (Error): [emerg] bind() failed", never},
		"it ends again and again":       {ended(backOff, 1, 2), nil, v1alpha2.ReasonContainerCrashed, "exit code 1", atOnce},
		"it ended as it should":         {ended(running, 0, 1), nil, "", "", never},
		"nginx refuses what it should serve": {corev1.ContainerStatus{State: running}, refuses("", "r1", "unknown directive"),
			v1alpha2.ReasonConfigRejected, "a.conf:3: unknown directive", atOnce},
		"a name has no address now": {corev1.ContainerStatus{State: running}, refuses("", "r1", `host not found in upstream "api"`),
			v1alpha2.ReasonConfigRejected, "host not found", never},
		"a certificate has not come yet": {corev1.ContainerStatus{State: running}, withoutCertificate(refuses("", "r1", "cannot load certificate")),
			v1alpha2.ReasonConfigRejected, "cannot load certificate", never},
		"nginx refuses, and serves another one": {corev1.ContainerStatus{State: running}, refuses("r0", "r1", "unknown directive"), "", "", never},
		"nginx refuses an unrequested revision": {corev1.ContainerStatus{State: running}, refuses("", "r2", "unknown directive"), "", "", never},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{tt.container}
			got := Of(pod, tt.instance, "r1")
			if tt.reason == "" {
				if got != nil {
					t.Fatalf("it finds %+v", got)
				}
				return
			}
			if got == nil || got.Reason != tt.reason || !strings.Contains(got.Message, tt.words) {
				t.Fatalf("it finds %+v", got)
			}
			var want time.Time
			if tt.giveUp != never {
				want = created.Add(tt.giveUp)
			}
			if !got.FailAfter.Equal(want) {
				t.Errorf("waiting is of no use from %s on, want %s", got.FailAfter, want)
			}
		})
	}
}

func TestUnschedulable(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/2 nodes"}}
	got := Of(pod, nil, "")
	if got == nil || got.Reason != v1alpha2.ReasonUnschedulable || !got.FailAfter.IsZero() || !strings.Contains(got.Message, "0/2 nodes") {
		t.Errorf("it finds %+v", got)
	}
}

// TestPullPatience: the timeout for pulls starts when the pod is assigned to a node.
func TestPullPatience(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("ErrImagePull", 0)}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(created.Add(time.Hour))}}
	if got := Of(pod, nil, ""); !got.FailAfter.Equal(created.Add(time.Hour + time.Minute)) {
		t.Errorf("it gives up at %s", got.FailAfter)
	}
}

func TestMessagesNameNoPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "uid-1"}}
	s := waiting("CreateContainerError", 0)
	s.State.Waiting.Message = "pod web-1 (uid-1) failed"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{s}
	if got := Of(pod, nil, ""); strings.Contains(got.Message, "web-1") || strings.Contains(got.Message, "uid-1") {
		t.Errorf("the message changes from pod to pod: %s", got.Message)
	}
}

func TestNotReady(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [b]"}}
	if got := NotReady(pod, &instanceapi.Status{NotReady: "nginx is starting"}); got != "nginx is starting" {
		t.Errorf("with an instance: %q", got)
	}
	if got := NotReady(pod, &instanceapi.Status{Ready: true}); got != "containers with unready status: [b]" {
		t.Errorf("of another container: %q", got)
	}
}
