package progress

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const success = `{"archive":"a/data-1.tar.gz","size":9,"sha256":"ab12","totals":{"entries":1,"files":1,"bytes":1,"skipped":0},"completedAt":"2026-11-21T11:00:00Z"}`

// aJob returns the job of an attempt, which was created some time ago.
func aJob(attempt int, age time.Duration) batchv1.Job {
	return batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name:              fmt.Sprintf("web-1-c%d", attempt),
		UID:               types.UID(fmt.Sprintf("job-%d", attempt)),
		Labels:            map[string]string{"backup.operator.example.com/attempt": fmt.Sprint(attempt)},
		CreationTimestamp: metav1.NewTime(now.Add(-age)),
	}}
}

// ended returns a job that ended some time ago.
func ended(j batchv1.Job, how batchv1.JobConditionType, ago time.Duration) batchv1.Job {
	j.Status.Conditions = []batchv1.JobCondition{{Type: how, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago))}}
	return j
}

func aPod(attempt int, change func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{
			batchv1.JobNameLabel:                  fmt.Sprintf("web-1-c%d", attempt),
			"backup.operator.example.com/attempt": fmt.Sprint(attempt),
		},
		OwnerReferences: []metav1.OwnerReference{{UID: types.UID(fmt.Sprintf("job-%d", attempt)), Controller: new(true)}},
	}}
	change(&pod)
	return pod
}

func state(s corev1.ContainerState) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "nginx-backup", State: s}}
	}
}

func end(code int32, reason, message string) func(*corev1.Pod) {
	return state(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}})
}

func waits(reason, message string) func(*corev1.Pod) {
	return state(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
}

func TestEvaluate(t *testing.T) {
	denied := end(1, "Error", `{"failure":{"reason":"StoreDenied","message":"wrong key"}}`)
	tests := []struct {
		name    string
		jobs    []batchv1.Job
		pods    []corev1.Pod
		step    Action
		attempt int
		reason  string
		message string
		after   time.Duration
	}{
		{name: "nothing yet", step: Start, attempt: 1, reason: v1alpha1.ReasonInProgress},
		{name: "pods whose jobs somebody has deleted", pods: []corev1.Pod{aPod(3, end(137, "Error", "")), aPod(1, end(137, "Error", ""))},
			step: Start, attempt: 4, reason: v1alpha1.ReasonInProgress},
		{name: "a job without a pod", jobs: []batchv1.Job{aJob(1, 20*time.Second)}, step: Wait, attempt: 1, reason: v1alpha1.ReasonInProgress, message: "Waiting for the pod of job web-1-c1 to start", after: 40 * time.Second},
		{name: "a job without a pod for long", jobs: []batchv1.Job{aJob(1, time.Hour)}, step: Wait, attempt: 1, reason: v1alpha1.ReasonPodNotStarted, message: "kubectl describe"},
		{name: "it writes", jobs: []batchv1.Job{aJob(1, time.Hour)}, pods: []corev1.Pod{aPod(1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })},
			step: Wait, attempt: 1, reason: v1alpha1.ReasonInProgress, message: "being written"},
		{name: "unschedulable", jobs: []batchv1.Job{aJob(1, 0)}, pods: []corev1.Pod{aPod(1, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: `persistentvolumeclaim "backups" not found`}}
		})}, step: Wait, attempt: 1, reason: v1alpha1.ReasonPodNotStarted, message: `"backups" not found`, after: time.Minute},
		{name: "no such Secret", jobs: []batchv1.Job{aJob(1, 0)}, pods: []corev1.Pod{aPod(1, waits("CreateContainerConfigError", `secret "s3" not found`))},
			step: Wait, attempt: 1, reason: v1alpha1.ReasonPodNotStarted, message: `secret "s3" not found`, after: time.Minute},
		{name: "it is being created", jobs: []batchv1.Job{aJob(1, 0)}, pods: []corev1.Pod{aPod(1, waits("ContainerCreating", ""))},
			step: Wait, attempt: 1, reason: v1alpha1.ReasonInProgress, after: time.Minute},
		{name: "done", jobs: []batchv1.Job{ended(aJob(1, time.Minute), batchv1.JobComplete, time.Second)}, pods: []corev1.Pod{aPod(1, end(0, "Completed", success))}, step: Done},
		{name: "somebody else's pod says that it is done", jobs: []batchv1.Job{aJob(1, 0)}, pods: []corev1.Pod{aPod(1, func(p *corev1.Pod) {
			end(0, "Completed", success)(p)
			p.OwnerReferences = nil
		})}, step: Wait, attempt: 1, reason: v1alpha1.ReasonInProgress, after: time.Minute},
		{name: "its node does not answer", jobs: []batchv1.Job{aJob(1, time.Hour)}, pods: []corev1.Pod{aPod(1, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.DeletionTimestamp = new(metav1.NewTime(now.Add(-2 * time.Minute)))
		})}, step: Start, attempt: 2, reason: v1alpha1.ReasonJobFailed, message: "its node does not answer"},
		{name: "done, before the job says so", jobs: []batchv1.Job{aJob(1, time.Minute)}, pods: []corev1.Pod{aPod(1, end(0, "Completed", success))}, step: Done},
		{name: "failed", jobs: []batchv1.Job{ended(aJob(1, time.Minute), batchv1.JobFailed, 4*time.Second)}, pods: []corev1.Pod{aPod(1, denied)},
			step: Wait, attempt: 1, reason: v1alpha1.ReasonStoreDenied, message: "wrong key", after: 6 * time.Second},
		{name: "failed a while ago", jobs: []batchv1.Job{ended(aJob(1, time.Minute), batchv1.JobFailed, 10*time.Second)}, pods: []corev1.Pod{aPod(1, denied)},
			step: Start, attempt: 2, reason: v1alpha1.ReasonStoreDenied, message: "wrong key"},
		{name: "failed thrice", jobs: []batchv1.Job{ended(aJob(3, time.Minute), batchv1.JobFailed, 10*time.Second)}, pods: []corev1.Pod{aPod(2, denied), aPod(3, denied)},
			step: Wait, attempt: 3, reason: v1alpha1.ReasonStoreDenied, after: 30 * time.Second},
		{name: "the newer job counts", jobs: []batchv1.Job{aJob(2, time.Second), ended(aJob(1, time.Minute), batchv1.JobFailed, 10*time.Second)}, pods: []corev1.Pod{aPod(1, denied)},
			step: Wait, attempt: 2, reason: v1alpha1.ReasonInProgress, after: 59 * time.Second},
		{name: "after the last number", jobs: []batchv1.Job{ended(aJob(9999, time.Hour), batchv1.JobFailed, time.Hour)}, step: Start, attempt: 1, reason: v1alpha1.ReasonJobFailed},
		{name: "killed for its memory", jobs: []batchv1.Job{ended(aJob(1, time.Minute), batchv1.JobFailed, time.Hour)}, pods: []corev1.Pod{aPod(1, end(137, "OOMKilled", ""))},
			step: Start, attempt: 2, reason: v1alpha1.ReasonJobFailed, message: "OOMKilled"},
		{name: "panicked", jobs: []batchv1.Job{ended(aJob(1, time.Minute), batchv1.JobFailed, time.Hour)}, pods: []corev1.Pod{aPod(1, end(2, "Error", "panic: runtime error: index out of range [3] with length 3"))},
			step: Start, attempt: 2, reason: v1alpha1.ReasonJobFailed, message: "index out of range"},
		{name: "evicted", jobs: []batchv1.Job{ended(aJob(1, time.Minute), batchv1.JobFailed, time.Hour)}, pods: []corev1.Pod{aPod(1, func(p *corev1.Pod) {
			p.Status.Reason, p.Status.Message = "Evicted", "the node was low on memory"
		})}, step: Start, attempt: 2, reason: v1alpha1.ReasonJobFailed, message: "low on memory"},
		{name: "complete, but the pod is gone", jobs: []batchv1.Job{ended(aJob(1, time.Minute), batchv1.JobComplete, time.Hour)},
			step: Start, attempt: 2, reason: v1alpha1.ReasonJobFailed, message: "ended without a result"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Evaluate(job.Create, tt.jobs, tt.pods, now)
			if v.Action != tt.step || v.Attempt != tt.attempt || v.Reason != tt.reason || !strings.Contains(v.Message, tt.message) || v.After != tt.after {
				t.Errorf("%s, attempt %d, %s after %v: %s", v.Action, v.Attempt, v.Reason, v.After, v.Message)
			}
			if v.Action == Done && v.Result.Archive != "a/data-1.tar.gz" {
				t.Errorf("result: %+v", v.Result)
			}
		})
	}
}

func TestPause(t *testing.T) {
	for attempt, want := range map[int]time.Duration{0: 10 * time.Second, 1: 10 * time.Second, 2: 20 * time.Second, 6: 320 * time.Second, 7: 10 * time.Minute, 9999: 10 * time.Minute} {
		if got := Backoff(attempt); got != want {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, want)
		}
	}
}

func TestBusy(t *testing.T) {
	runs := func(j batchv1.Job) batchv1.Job {
		j.Status.Ready = new(int32(1))
		return j
	}
	tests := []struct {
		name string
		job  batchv1.Job
		want bool
	}{
		{"it starts", aJob(1, time.Second), true},
		{"it does not start", aJob(1, 2*time.Minute), false},
		{"it works for long", runs(aJob(1, time.Hour)), true},
		{"it has ended", ended(aJob(1, time.Second), batchv1.JobComplete, 0), false},
	}
	for _, tt := range tests {
		if got := Busy(&tt.job, now); got != tt.want {
			t.Errorf("%s: busy is %v", tt.name, got)
		}
	}
}
