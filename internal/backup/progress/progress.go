// Package progress judges how far a backup's jobs have come, and what is to be done next. It
// is pure.
//
// The memory of failed attempts is the last job: its number, and when it ended. So a restarted
// operator goes on with the same pauses.
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

// Step is what to do next.
type Step string

// The steps.
const (
	// Start a job, of the number Attempt.
	Start Step = "Start"
	// Wait for an event, or for the time After.
	Wait Step = "Wait"
	// Done: a job has succeeded, with the Result.
	Done Step = "Done"
)

// Verdict is what was judged.
type Verdict struct {
	Step    Step
	Attempt int
	Result  job.Result
	// Reason and Message tell why it is not done.
	Reason, Message string
	// After is when to look again although nothing has changed; 0: never.
	After time.Duration
}

// The pause after a failed attempt doubles from the first to the most.
const (
	pauseFirst = 10 * time.Second
	pauseMost  = 10 * time.Minute
)

// Pause is how long to wait after a failed attempt, the first of which has the number 1.
func Pause(attempt int) time.Duration {
	pause := pauseFirst
	for range attempt - 1 {
		if pause *= 2; pause > pauseMost {
			return pauseMost
		}
	}
	return pause
}

// Judge looks at the jobs of a task of one backup, and at the pods of that task.
func Judge(jobs []batchv1.Job, pods []corev1.Pod, now time.Time) Verdict {
	if len(jobs) == 0 {
		return Verdict{Step: Start, Attempt: unused(pods), Reason: v1alpha1.ReasonInProgress, Message: "A job is about to start"}
	}
	last := last(jobs)
	pod := podOf(last, pods)
	if result, ok := resultOf(pod); ok && result.Failure == nil {
		return Verdict{Step: Done, Result: result}
	}
	ended, over := endOf(last)
	if !over && lost(pod, now) {
		ended, over = pod.DeletionTimestamp.Time, true
	}
	if !over {
		return running(last, pod, now)
	}
	v := failed(last, pod)
	v.Attempt = job.Attempt(last)
	if left := Pause(v.Attempt) - now.Sub(ended); left > 0 {
		v.Step, v.After = Wait, left
		return v
	}
	v.Step, v.Attempt = Start, job.Next(v.Attempt)
	return v
}

// unused is the number of a job where there is none. There may be pods of jobs that somebody has
// deleted. They may write still, so the next job has a number, and by that an archive, of its own.
func unused(pods []corev1.Pod) int {
	highest := 0
	for i := range pods {
		highest = max(highest, job.Attempt(&pods[i]))
	}
	return job.Next(highest)
}

// podOf is the newest pod of a job, nil if there is none.
func podOf(j *batchv1.Job, pods []corev1.Pod) *corev1.Pod {
	var newest *corev1.Pod
	for i := range pods {
		pod := &pods[i]
		// Labels anybody can give to a pod, and a result tells that there is a backup.
		if !metav1.IsControlledBy(pod, j) {
			continue
		}
		if newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	return newest
}

// endOf tells whether a job has ended, and when.
func endOf(j *batchv1.Job) (time.Time, bool) {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, true
		}
	}
	return time.Time{}, false
}

// Active tells whether a job has not ended.
func Active(j *batchv1.Job) bool {
	_, over := endOf(j)
	return !over
}

// Busy tells whether a job does something. One whose pod has not started for a while, since a
// Secret, a volume or a node is missing, does nothing until somebody helps it.
func Busy(j *batchv1.Job, now time.Time) bool {
	if now.Sub(j.CreationTimestamp.Time) < slow {
		return Active(j)
	}
	// A pod that is ready to tell what a backup declares does nothing but wait: perhaps for somebody
	// to raise a quota.
	reader := j.Labels[job.LabelTask] == string(job.Read)
	return Active(j) && !reader && ptr.Deref(j.Status.Ready, 0) > 0
}

// Serving is the pod of the last job that is ready to answer, nil if there is none.
func Serving(jobs []batchv1.Job, pods []corev1.Pod) *corev1.Pod {
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

// last is the job that was made last.
func last(jobs []batchv1.Job) *batchv1.Job {
	newest := slices.MaxFunc(jobs, func(a, b batchv1.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(job.Attempt(&a), job.Attempt(&b)))
	})
	return &newest
}

// terminated is how the container ended, nil if it did not.
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

func resultOf(pod *corev1.Pod) (job.Result, bool) {
	end := terminated(pod)
	if end == nil {
		return job.Result{}, false
	}
	result, err := job.ParseResult(end.Message)
	return result, err == nil
}

// lost tells of a pod that should have ended and has not: its node does not answer. It may write
// still, but an archive of its own.
func lost(pod *corev1.Pod, now time.Time) bool {
	return pod != nil && pod.DeletionTimestamp != nil && now.Sub(pod.DeletionTimestamp.Time) > slow
}

// failed tells why a job has failed.
func failed(j *batchv1.Job, pod *corev1.Pod) Verdict {
	if result, ok := resultOf(pod); ok && result.Failure != nil {
		return Verdict{Reason: result.Failure.Reason, Message: result.Failure.Message}
	}
	message := fmt.Sprintf("job %s ended, and left no word", j.Name)
	switch end := terminated(pod); {
	case end != nil && end.Message != "":
		message = fmt.Sprintf("job %s ended with exit code %d (%s): %.512s", j.Name, end.ExitCode, end.Reason, end.Message)
	case end != nil:
		message = fmt.Sprintf("job %s ended with exit code %d (%s)", j.Name, end.ExitCode, end.Reason)
	case pod != nil && pod.DeletionTimestamp != nil && pod.Status.Phase == corev1.PodRunning:
		message = fmt.Sprintf("the pod of job %s should have ended: its node does not answer", j.Name)
	case pod != nil && pod.Status.Reason != "":
		message = fmt.Sprintf("the pod of job %s ended: %s: %.512s", j.Name, pod.Status.Reason, pod.Status.Message)
	}
	return Verdict{Reason: v1alpha1.ReasonJobFailed, Message: message}
}

// slow is after which time a pod that does not start is worth a word. Nothing but an event
// of the kubelet, which nobody watches, tells why a volume is not mounted.
const slow = time.Minute

func running(j *batchv1.Job, pod *corev1.Pod, now time.Time) Verdict {
	v := Verdict{Step: Wait, Attempt: job.Attempt(j), Reason: v1alpha1.ReasonInProgress, Message: "The archive is being written"}
	if pod != nil && pod.Status.Phase == corev1.PodRunning {
		return v
	}
	age := now.Sub(j.CreationTimestamp.Time)
	v.After = max(0, slow-age)
	if trouble := notStarted(pod); trouble != "" {
		v.Reason, v.Message = v1alpha1.ReasonPodNotStarted, trouble
		return v
	}
	if age < slow {
		v.Message = "A job starts"
		return v
	}
	v.Reason = v1alpha1.ReasonPodNotStarted
	v.Message = fmt.Sprintf("the pod of job %s does not start: `kubectl describe job,pod -l %s=%s` tells why", j.Name, batchv1.JobNameLabel, j.Name)
	return v
}

// notStarted is why a pod does not start, as far as it tells.
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
