package controller_test

import (
	"net/http"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/archive"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/test/golden"
)

func anApplication() *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "89abcdef-4567", Generation: 1}}
}

func aBackup(change ...func(*v1alpha1.NginxBackup)) *v1alpha1.NginxBackup {
	b := &v1alpha1.NginxBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "01234567-89ab", Generation: 1},
		Spec: v1alpha1.NginxBackupSpec{
			Target:      v1alpha1.TargetReference{Name: "web"},
			Destination: v1alpha1.Destination{URL: "s3://backups/nginx?region=eu-central-1"},
		},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

func existing(path string) func(*v1alpha1.NginxBackup) {
	return func(b *v1alpha1.NginxBackup) { b.Spec.Existing = &v1alpha1.ExistingBackup{Path: path} }
}

func wrongDestination(b *v1alpha1.NginxBackup) {
	b.Spec.Destination.URL = "s3://backups/nginx?color=red"
}

// deleted is a backup that is being deleted with its data.
func deleted(b *v1alpha1.NginxBackup) {
	b.Spec.DeletionPolicy = v1alpha1.Delete
	b.Finalizers, b.DeletionTimestamp = []string{v1alpha1.Finalizer}, new(metav1.NewTime(now))
}

var completedResult = job.Result{
	Archive: "shop/web/web-1-01234567/data-1-x7k2m4qz.tar.gz", Size: 5 << 20, SHA256: "ab12",
	Totals: &archive.Totals{Files: 12, Bytes: 9 << 20}, CompletedAt: new(now),
}

// TestBackupMessages renders what a pass over an NginxBackup reports.
func TestBackupMessages(t *testing.T) {
	var messages golden.Messages
	newStage(t, &messages, 1, aBackup()).reconcile(aBackup())
	for _, b := range []*v1alpha1.NginxBackup{
		aBackup(wrongDestination), aBackup(wrongDestination, existing("shop/web/web-1-01234567")), aBackup(existing("blog/web/web-1-01234567")),
	} {
		newStage(t, &messages, 1, anApplication(), b).reconcile(b)
	}
	newStage(t, &messages, 0, anApplication(), aBackup()).reconcile(aBackup())
	newStageThatRefuses(t, &messages, 1, refuseJobs, anApplication(), aBackup()).reconcile(aBackup())
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: job.SnapshotName(aBackup())}}
	newStage(t, &messages, 1, anApplication(), aBackup(), foreign).reconcile(aBackup())
	writeOneBackup(t, &messages)
	failToWrite(t, &messages)
	deleteBackups(t, &messages)
	messages.Compare(t, "backups.txt")
}

// writeOneBackup goes from the snapshot to the end of the job.
func writeOneBackup(t *testing.T, messages *golden.Messages) {
	t.Helper()
	b := aBackup()
	s := newStage(t, messages, 1, anApplication(), b)
	s.reconcile(b)
	s.reconcile(b)
	s.report(completedResult)
	s.reconcile(b)
	if b.Status.CompletionTime == nil {
		t.Errorf("the backup is not completed: %+v", b.Status.Conditions)
	}
	s.reconcile(b)
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1-c1"}, &batchv1.Job{}); !apierrors.IsNotFound(err) {
		t.Errorf("the job of a completed backup remains: %v", err)
	}
}

// failToWrite renders the failures of pods.
func failToWrite(t *testing.T, messages *golden.Messages) {
	t.Helper()
	for _, status := range []corev1.PodStatus{
		{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available: 3 Insufficient memory."}}},
		{ContainerStatuses: []corev1.ContainerStatus{{Name: job.Container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "CreateContainerConfigError", Message: `secret "backup-credentials" not found`}}}}},
		{},
	} {
		b := aBackup()
		s := newStage(t, messages, 1, anApplication(), b)
		s.reconcile(b)
		s.startPod(status)
		s.clock.SetTime(now.Add(2 * time.Minute))
		s.reconcile(b)
	}
	for _, output := range []string{"", "panic: runtime error: invalid memory address or nil pointer dereference"} {
		b := aBackup()
		s := newStage(t, messages, 1, anApplication(), b)
		s.reconcile(b)
		s.end(2, output)
		if after := s.reconcile(b).RequeueAfter; after == 0 {
			t.Error("a failed attempt is not repeated")
		}
	}
}

// deleteBackups renders the deletion of data, and what keeps it from being deleted.
func deleteBackups(t *testing.T, messages *golden.Messages) {
	t.Helper()
	b := aBackup(deleted)
	s := newStage(t, messages, 1, b)
	s.reconcile(b)
	s.end(1, "")
	s.reconcile(b)
	s.clock.SetTime(now.Add(2 * time.Hour))
	s.reconcile(b)
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
		t.Errorf("a backup whose data cannot be deleted blocks the deletion of its object: %v", err)
	}
	terminating := func(o client.Object) error {
		if _, ok := o.(*batchv1.Job); !ok {
			return nil
		}
		err := apierrors.NewForbidden(batchv1.Resource("jobs"), o.GetName(), nil)
		err.ErrStatus.Code = http.StatusForbidden
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return err
	}
	newStageThatRefuses(t, messages, 1, terminating, aBackup(deleted)).reconcile(aBackup(deleted))
}
