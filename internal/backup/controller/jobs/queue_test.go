package jobs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/internal/backup/job"
)

// TestQueueFull: an object that finds no room is woken as soon as there is some.
func TestQueueFull(t *testing.T) {
	now := time.Now()
	running := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "running", CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{job.LabelTask: string(job.Create)},
	}}
	jobs := fake.NewClientBuilder().WithObjects(running).Build()
	q := NewQueue(jobs, 1, clocktesting.NewFakePassiveClock(now))
	q.Source("NginxBackup")
	waiting := Waiter{"NginxBackup", types.NamespacedName{Namespace: "shop", Name: "waiting"}}
	for range 2 {
		if !q.EnqueueIfFull(t.Context(), waiting) {
			t.Fatal("there is room beside the only job that there may be")
		}
	}
	q.WakeNext(t.Context())
	if n := len(q.wake["NginxBackup"]); n != 0 {
		t.Fatalf("%d were woken while there was no room", n)
	}
	running.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	if err := jobs.Status().Update(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	q.WakeNext(t.Context())
	if n := len(q.wake["NginxBackup"]); n != 1 {
		t.Fatalf("%d were woken, want the one that waits", n)
	}
	if woken := <-q.wake["NginxBackup"]; woken.Object != waiting.NamespacedName {
		t.Errorf("%s was woken", woken.Object)
	}
	if q.EnqueueIfFull(t.Context(), waiting) {
		t.Error("there is no room, and no job")
	}
}

// TestOneNamespace: the jobs of one namespace, which may never end, leave room for those of others.
func TestOneNamespace(t *testing.T) {
	now := time.Now()
	jobs := fake.NewClientBuilder().Build()
	q := NewQueue(jobs, 10, clocktesting.NewFakePassiveClock(now))
	q.Source("NginxBackup")
	start := func(namespace string) int {
		started := 0
		for i := range 20 {
			object := Waiter{"NginxBackup", types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("data-", i)}}
			ok, err := q.StartOrEnqueue(t.Context(), object, func() error {
				return jobs.Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
					Namespace: namespace, Name: object.Name, CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{job.LabelTask: string(job.Create)},
				}})
			})
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				started++
			}
		}
		return started
	}
	if got := []int{start("busy"), start("busier"), start("shop")}; !slices.Equal(got, []int{5, 3, 1}) {
		t.Errorf("the namespaces have %v jobs", got)
	}
	q.WakeNext(t.Context())
	if n := len(q.wake["NginxBackup"]); n != 0 {
		t.Errorf("%d were woken into the room that is left for a fourth namespace", n)
	}
}
