package backup

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/declarations"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/test/standin"
)

// newBenchOfUser returns a bench whose jobs get no pods from the stand-in, but only those that the test creates.
func newBenchOfUser(t *testing.T) *bench {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	must(t, kube.Create(t.Context(), namespace))
	must(t, kube.Create(t.Context(), newOrderKey(t, namespace.Name)))
	b := &bench{t: t, namespace: namespace.Name, place: &standin.NodeStorage{}}
	b.operator = startOperator(t, b.namespace)
	return b
}

// jobOf waits for the operator's only job of a task that is not one of others, and returns it.
func (b *bench) jobOf(task job.Task, others ...*batchv1.Job) *batchv1.Job {
	b.t.Helper()
	var found *batchv1.Job
	b.eventually("the operator has a job", func() error {
		list := &batchv1.JobList{}
		must(b.t, kube.List(b.t.Context(), list, client.InNamespace(b.namespace), client.MatchingLabels{job.LabelTask: string(task)}))
		found = nil
		for i := range list.Items {
			if j := &list.Items[i]; !hasUID(others, j) {
				found = j
			}
		}
		if found == nil || found.Annotations["backup.operator.example.com/mark"] == "" {
			return fmt.Errorf("there are %d jobs", len(list.Items))
		}
		return nil
	})
	return found
}

func hasUID(all []*batchv1.Job, j *batchv1.Job) bool {
	for _, other := range all {
		if other.UID == j.UID {
			return true
		}
	}
	return false
}

// forge creates a job with all metadata of the operator's own one, and an image of a user.
func (b *bench) forge(like *batchv1.Job, name string) *batchv1.Job {
	b.t.Helper()
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: like.Namespace, Name: name, Labels: like.Labels, Annotations: like.Annotations, OwnerReferences: like.OwnerReferences,
		},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: job.Container, Image: "registry.example.com/forged:1"}},
		}}},
	}
	must(b.t, kube.Create(b.t.Context(), j))
	return j
}

// pod creates the pod of a job with a status.
func (b *bench) pod(j *batchv1.Job, status corev1.PodStatus) {
	b.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: j.Namespace, GenerateName: j.Name + "-", Labels: j.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: j.Spec.Template.Spec,
	}
	must(b.t, kube.Create(b.t.Context(), pod))
	pod.Status = status
	must(b.t, kube.Status().Update(b.t.Context(), pod))
}

// reported is the status of a pod that has ended with a termination message.
func reported(message string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{
		Name: job.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: message}},
	}}}
}

const created = `{"archive":"%s","size":9,"sha256":"%s","totals":{},"completedAt":"2026-11-21T12:00:00Z"}`

// TestForgedJobs: a user's job is not taken for the operator's, whatever it has copied from it. Only the operator's own job
// completes the backup.
func TestForgedJobs(t *testing.T) {
	t.Parallel()
	message := fmt.Sprintf(created, "forged", strings.Repeat("f", 64))
	for name, forge := range map[string]func(*bench, *batchv1.Job) *batchv1.Job{
		"beside it": func(b *bench, own *batchv1.Job) *batchv1.Job { return b.forge(own, "forged") },
		"beside it, without its mark": func(b *bench, own *batchv1.Job) *batchv1.Job {
			own.Annotations = nil
			return b.forge(own, "forged")
		},
		"of the next attempt": func(b *bench, own *batchv1.Job) *batchv1.Job {
			own.Labels["backup.operator.example.com/attempt"] = "2"
			return b.forge(own, "saved-c2")
		},
		"in its place": func(b *bench, own *batchv1.Job) *batchv1.Job {
			must(b.t, kube.Delete(b.t.Context(), own, client.PropagationPolicy("Background")))
			var j *batchv1.Job
			b.eventually("the name is free", func() error {
				list := &batchv1.JobList{}
				must(b.t, kube.List(b.t.Context(), list, client.InNamespace(b.namespace)))
				for i := range list.Items {
					must(b.t, client.IgnoreNotFound(kube.Delete(b.t.Context(), &list.Items[i], client.PropagationPolicy("Background"))))
				}
				j = own.DeepCopy()
				j.ResourceVersion, j.UID, j.Spec = "", "", batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: own.Spec.Template.Spec}}
				return kube.Create(b.t.Context(), j)
			})
			return j
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchOfUser(t)
			b.application("web", v1alpha2.NginxOperatorSpec{})
			backup := b.backup("saved", "web", claimURL)
			own := b.jobOf(job.Create)
			forged := forge(b, own.DeepCopy())
			b.pod(forged, reported(message))
			own = b.jobOf(job.Create, forged)
			b.settled()
			must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(backup), backup))
			if plan.Good(backup) || backup.Status.Digest != "" || backup.Status.CompletionTime != nil {
				t.Fatalf("a forged job has completed the backup: %+v", backup.Status)
			}
			digest := strings.Repeat("a", 64)
			b.pod(own, reported(fmt.Sprintf(created, job.Key(backup)+"/data-1.tar.gz", digest)))
			b.eventually("the operator's own job completes the backup", func() error {
				must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(backup), backup))
				if !plan.Good(backup) || backup.Status.Digest != "sha256:"+digest {
					return fmt.Errorf("the status is %+v", backup.Status)
				}
				return nil
			})
		})
	}
}

// TestForgedReader: the pod of a user's job is not requested what to restore.
func TestForgedReader(t *testing.T) {
	t.Parallel()
	b := newBenchOfUser(t)
	digest := strings.Repeat("a", 64)
	b.application("web", v1alpha2.NginxOperatorSpec{})
	backup := b.backup("saved", "web", claimURL)
	b.pod(b.jobOf(job.Create), reported(fmt.Sprintf(created, job.Key(backup)+"/data-1.tar.gz", digest)))
	restore := b.restore("back")
	own := b.jobOf(job.Read)

	var requests atomic.Int32
	const ip = "127.91.7.1"
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("%s:%d", ip, declarations.Port))
	must(t, err)
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		http.Error(w, "forged", http.StatusTeapot)
	})}
	go server.Serve(listener) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { must(t, server.Shutdown(context.Background())) })
	serves := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
	later := own.DeepCopy()
	later.Labels["backup.operator.example.com/attempt"] = "2"
	b.pod(b.forge(later, "forged"), serves)
	b.settled()
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(restore), restore))
	c := meta.FindStatusCondition(restore.Status.Conditions, v1alpha1.ConditionCompleted)
	if n := requests.Load(); n > 0 || c == nil || c.Reason == v1alpha1.ReasonUnreachable {
		t.Fatalf("the pod of a forged job got %d requests: %+v", n, c)
	}
	b.pod(own, serves)
	b.eventually("the operator's own pod is requested", func() error {
		if requests.Load() == 0 {
			return fmt.Errorf("it got no request")
		}
		return nil
	})
}
