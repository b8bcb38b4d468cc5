package node

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/standin/kubelet"
)

// status is the pod status that the node reports. Only one goroutine changes it at a time: the one
// that runs the pod or, while its container runs, the one that probes it.
type status struct{ corev1.PodStatus }

func newStatus(pod *corev1.Pod, ip string) *status {
	now := metav1.Now()
	s := &status{corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &now,
		ContainerStatuses: []corev1.ContainerStatus{{Name: naming.NginxContainer, Image: kubelet.Image(&pod.Spec), ImageID: id(kubelet.Image(&pod.Spec))}},
	}}
	for _, c := range pod.Spec.InitContainers {
		s.InitContainerStatuses = append(s.InitContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: id(c.Image), Ready: true,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}},
		})
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized} {
		s.Conditions = append(s.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	s.setReady(false)
	return s
}

// id returns the ID of an image.
func id(image string) string {
	return fmt.Sprintf("registry.invalid/nginx@sha256:%x", sha256.Sum256([]byte(image)))
}

func (s *status) nginx() *corev1.ContainerStatus { return &s.ContainerStatuses[0] }

// begin sets the status of a started container.
func (s *status) begin() {
	c := s.nginx()
	if c.LastTerminationState.Terminated != nil {
		c.RestartCount++
	}
	c.ContainerID = "container://" + rand.Text()
	c.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	s.setReady(false)
}

// end sets the status of an ended container.
func (s *status) end(state *os.ProcessState, message string) {
	c := s.nginx()
	ended := &corev1.ContainerStateTerminated{ExitCode: exitCode(state), Reason: "Completed", ContainerID: c.ContainerID, FinishedAt: metav1.Now()}
	if ended.ExitCode != 0 {
		ended.Reason, ended.Message = "Error", message
	}
	c.State = corev1.ContainerState{Terminated: ended}
	c.LastTerminationState = corev1.ContainerState{Terminated: ended}
	s.setReady(false)
}

// exitCode returns the exit code of a process, as a container runtime reports it.
func exitCode(state *os.ProcessState) int32 {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int32(status.Signal())
	}
	return int32(state.ExitCode())
}

// backOff returns how long an ended container waits for its restart.
func (s *status) backOff() time.Duration {
	c := s.nginx()
	if c.RestartCount == 0 {
		return 0
	}
	wait := backOff << min(c.RestartCount-1, 5)
	c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %s restarting failed container", wait),
	}}
	return wait
}

func (s *status) setReady(ready bool) {
	s.nginx().Ready = ready
	is := corev1.ConditionFalse
	if ready {
		is = corev1.ConditionTrue
	}
	for _, name := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		next := corev1.PodCondition{Type: name, Status: is, LastTransitionTime: metav1.Now()}
		if !ready {
			next.Reason, next.Message = "ContainersNotReady", "containers with unready status: [nginx]"
		}
		s.set(next)
	}
}

func (s *status) set(next corev1.PodCondition) {
	for i := range s.Conditions {
		if s.Conditions[i].Type != next.Type {
			continue
		}
		if s.Conditions[i].Status == next.Status {
			next.LastTransitionTime = s.Conditions[i].LastTransitionTime
		}
		s.Conditions[i] = next
		return
	}
	s.Conditions = append(s.Conditions, next)
}

// report writes the status even if ctx has ended, because it may be the pod's last status. A pod
// that is gone has no status.
func (p *pod) report(ctx context.Context, s *status) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	patch, err := json.Marshal([]operation{{"test", "/metadata/uid", p.uid}, {"add", "/status", s.PodStatus}})
	if err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}}
	return client.IgnoreNotFound(p.node.client.Status().Patch(context.WithoutCancel(ctx), pod, client.RawPatch(types.JSONPatchType, patch)))
}

// tail passes on what is written and keeps its end.
type tail struct {
	to   io.Writer
	mu   sync.Mutex
	text []byte
}

// enough is the number of bytes that a kubelet takes from the end of a log for a termination
// message.
const enough = 2048

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-enough):]
	return t.to.Write(text)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
