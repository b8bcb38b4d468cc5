// Package progress evaluates how far the jobs of a backup or a restore are, and decides what to do
// next. It is pure.
//
// The last job is the record of failed attempts: its number, and when it ended. So an operator that
// restarts continues with the same pauses.
package progress

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
)

// Action is what to do next.
type Action string

// The steps.
const (
	// Start: start a job with the number Attempt.
	Start Action = "Start"
	// Wait: wait for an event, or for the time After.
	Wait Action = "Wait"
	// Done: a job has succeeded, with the Result.
	Done Action = "Done"
)

// Verdict is the result of Evaluate.
type Verdict struct {
	Action  Action
	Attempt int
	Result  job.Result
	// Reason and Message say why the task is not done.
	Reason, Message string
	// After is the time until the next check if nothing changes, or 0 if none is needed.
	After time.Duration
}

// The pause after a failed attempt doubles from pauseFirst up to pauseMost.
const (
	pauseFirst = 10 * time.Second
	pauseMost  = 10 * time.Minute
)

// Backoff returns the pause after a failed attempt. The first attempt has the number 1.
func Backoff(attempt int) time.Duration {
	pause := pauseFirst
	for range attempt - 1 {
		if pause *= 2; pause > pauseMost {
			return pauseMost
		}
	}
	return pause
}

// Evaluate decides the next step of one task of an object from the operator's own jobs for it, and the
// pods of that task.
func Evaluate(task job.Task, jobs []batchv1.Job, pods []corev1.Pod, now time.Time) Verdict {
	if len(jobs) == 0 {
		return Verdict{Action: Start, Attempt: unusedAttempt(pods), Reason: v1alpha1.ReasonInProgress, Message: "A job is about to start"}
	}
	last := last(jobs)
	pod := podOf(last, pods)
	if result, ok := resultOf(task, pod); ok && result.Failure == nil {
		return Verdict{Action: Done, Result: result}
	}
	ended, over := endOf(last)
	if !over && lost(pod, now) {
		ended, over = pod.DeletionTimestamp.Time, true
	}
	if !over {
		return evaluateUnfinished(last, pod, now)
	}
	v := failed(task, last, pod)
	v.Attempt = job.Attempt(last)
	if left := Backoff(v.Attempt) - now.Sub(ended); left > 0 {
		v.Action, v.After = Wait, left
		return v
	}
	v.Action, v.Attempt = Start, job.Next(v.Attempt)
	return v
}

// unusedAttempt returns a number for a job when there is none. Pods whose jobs a user deleted may still
// write, so the next job needs another number, and with it an archive of its own.
func unusedAttempt(pods []corev1.Pod) int {
	highest := 0
	for i := range pods {
		highest = max(highest, job.Attempt(&pods[i]))
	}
	return job.Next(highest)
}

// podOf returns the newest pod of a job, or nil if there is none.
func podOf(j *batchv1.Job, pods []corev1.Pod) *corev1.Pod {
	var newest *corev1.Pod
	for i := range pods {
		pod := &pods[i]
		// Anyone can set labels on a pod, and its result would be taken for proof of a backup.
		if !metav1.IsControlledBy(pod, j) {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	return newest
}

// endOf returns when a job ended, and reports whether it has.
func endOf(j *batchv1.Job) (time.Time, bool) {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// JobUnfinished reports whether a job has not ended.
func JobUnfinished(j *batchv1.Job) bool {
	_, over := endOf(j)
	return !over
}

// Busy reports whether a job is working. A job whose pod has not started for some time, since a
// Secret, a volume or a node is missing, is not: it needs help from a user.
func Busy(j *batchv1.Job, now time.Time) bool {
	if now.Sub(j.CreationTimestamp.Time) < podStartTimeout {
		return JobUnfinished(j)
	}
	// A pod that serves declarations only waits, possibly until a user raises a quota.
	reader := j.Labels[job.LabelTask] == string(job.Read)
	return JobUnfinished(j) && !reader && ptr.Deref(j.Status.Ready, 0) > 0
}

// ReadyPod returns the pod of the last job if it is ready to serve, or nil.
func ReadyPod(jobs []batchv1.Job, pods []corev1.Pod) *corev1.Pod {
	if len(jobs) == 0 {
		return nil
	}
	pod := podOf(last(jobs), pods)
	if pod == nil || pod.DeletionTimestamp != nil || pod.Status.PodIP == "" || terminated(pod) != nil {
		return nil
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return pod
		}
	}
	return nil
}

// last returns the job that was created last.
func last(jobs []batchv1.Job) *batchv1.Job {
	newest := slices.MaxFunc(jobs, func(a, b batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(job.Attempt(&a), job.Attempt(&b)))
	})
	return &newest
}

// terminated returns how the container ended, or nil if it has not.
func terminated(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	if pod == nil {
		return nil
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == job.Container {
			return s.State.Terminated
		}
	}
	return nil
}

func resultOf(task job.Task, pod *corev1.Pod) (job.Result, bool) {
	end := terminated(pod)
	if end == nil {
		return job.Result{}, false
	}
	result, err := job.ParseResult(task, end.Message)
	return result, err == nil
}

// lost reports whether a pod should have ended but has not, because its node does not respond. It
// may still write, but only to its own archive.
func lost(pod *corev1.Pod, now time.Time) bool {
	return pod != nil && pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > podStartTimeout
}

// failed returns why a job has failed.
func failed(task job.Task, j *batchv1.Job, pod *corev1.Pod) Verdict {
	if result, ok := resultOf(task, pod); ok && result.Failure != nil {
		return Verdict{Reason: result.Failure.Reason, Message: result.Failure.Message}
	}
	message := fmt.Sprintf("job %s ended without a result", j.Name)
	switch end := terminated(pod); {
	case end != nil && end.Message != "":
		message = fmt.Sprintf("job %s ended with exit code %d (%s): %.512s", j.Name, end.ExitCode, end.Reason, end.Message)
	case end != nil:
		message = fmt.Sprintf("job %s ended with exit code %d (%s)", j.Name, end.ExitCode, end.Reason)
	case pod != nil && pod.DeletionTimestamp != nil && pod.Status.Phase == corev1.PodRunning:
		message = fmt.Sprintf("the pod of job %s did not end in time: its node does not answer", j.Name)
	case pod != nil && pod.Status.Reason != "":
		message = fmt.Sprintf("the pod of job %s ended: %s: %.512s", j.Name, pod.Status.Reason, pod.Status.Message)
	}
	return Verdict{Reason: v1alpha1.ReasonJobFailed, Message: message}
}

// podStartTimeout is the time after which a pod that does not start is reported. Only an event of the kubelet,
// which nothing watches, says why a volume cannot be mounted.
const podStartTimeout = time.Minute

func evaluateUnfinished(j *batchv1.Job, pod *corev1.Pod, now time.Time) Verdict {
	v := Verdict{Action: Wait, Attempt: job.Attempt(j), Reason: v1alpha1.ReasonInProgress, Message: "The archive is being written"}
	if pod != nil && pod.Status.Phase == corev1.PodRunning {
		return v
	}
	age := now.Sub(j.CreationTimestamp.Time)
	v.After = max(0, podStartTimeout-age)
	if diagnosis := notStarted(pod); diagnosis != "" {
		v.Reason, v.Message = v1alpha1.ReasonPodNotStarted, diagnosis
		return v
	}
	if age < podStartTimeout {
		v.Message = fmt.Sprintf("Waiting for the pod of job %s to start", j.Name)
		return v
	}
	v.Reason = v1alpha1.ReasonPodNotStarted
	v.Message = fmt.Sprintf("the pod of job %s does not start: see `kubectl describe job,pod -l %s=%s`", j.Name, batchv1.JobNameLabel, j.Name)
	return v
}

// notStarted returns why a pod does not start, as far as its status says.
func notStarted(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "the job's pod cannot be scheduled: " + c.Message
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if w := s.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			return fmt.Sprintf("the job's pod cannot start: %s: %.512s", w.Reason, w.Message)
		}
	}
	return ""
}
