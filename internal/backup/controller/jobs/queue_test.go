package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
)

// namespaces are those with an object that has jobs.
var namespaces = []string{"busy", "busier", "shop"}

// owner returns the object of a namespace that has jobs.
func owner(namespace string) *v1alpha1.NginxBackup {
	return &v1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "data", UID: types.UID("data-of-" + namespace)}}
}

func jobOf(backup *v1alpha1.NginxBackup, name string, now time.Time) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: backup.Namespace, Name: name, CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{job.LabelTask: string(job.Create)},
		OwnerReferences: []metav1.OwnerReference{job.Owner(backup)},
	}}
}

func newClient(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(batchv1.AddToScheme(scheme), corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range namespaces {
		objects = append(objects, owner(namespace))
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&batchv1.Job{}).Build()
}

// TestJobsOfUsers: a user's own jobs with the label take no room, unless they name an object of the namespace, and then at most
// half of it.
func TestJobsOfUsers(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		change func(*batchv1.Job)
		// started is the number of jobs that another namespace gets of 10.
		started int
	}{
		"without an owner":     {func(j *batchv1.Job) { j.OwnerReferences = nil }, 5},
		"not the controller":   {func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil }, 5},
		"another kind":         {func(j *batchv1.Job) { j.OwnerReferences[0].Kind = "CronJob" }, 5},
		"another group":        {func(j *batchv1.Job) { j.OwnerReferences[0].APIVersion = "batch/v1" }, 5},
		"an unknown object":    {func(j *batchv1.Job) { j.OwnerReferences[0].Name = "none" }, 5},
		"an unknown UID":       {func(j *batchv1.Job) { j.OwnerReferences[0].UID = "data-of-shop" }, 5},
		"of the user's backup": {func(*batchv1.Job) {}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t)
			for i := range 30 {
				j := jobOf(owner("busy"), fmt.Sprint("own-", i), now)
				tt.change(j)
				if err := c.Create(t.Context(), j); err != nil {
					t.Fatal(err)
				}
			}
			q, started := NewQueue(c, 10, clocktesting.NewFakePassiveClock(now)), 0
			for i := range 10 {
				object := Waiter{"NginxBackup", types.NamespacedName{Namespace: "shop", Name: fmt.Sprint("data-", i)}}
				ok, err := q.StartOrEnqueue(t.Context(), object, func() error { return c.Create(t.Context(), jobOf(owner("shop"), object.Name, now)) })
				if err != nil {
					t.Fatal(err)
				}
				if ok {
					started++
				}
			}
			if started != tt.started {
				t.Errorf("another namespace gets %d jobs, want %d", started, tt.started)
			}
		})
	}
}

// TestQueueFull: an object that finds no room is woken as soon as there is some.
func TestQueueFull(t *testing.T) {
	now := time.Now()
	running := jobOf(owner("shop"), "running", now)
	jobs := newClient(t, running)
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

// lateCache is a client whose cache shows the jobs of a namespace late, or never.
type lateCache struct {
	client.Client
	late string
	// shown are closed when the cache shows the jobs, and requested when a read of them waits.
	shown, requested chan struct{}
}

// List is like that of caches.ReadYourWrites.
func (c *lateCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	jobs, ok := list.(*batchv1.JobList)
	if !ok {
		return c.Client.List(ctx, list, options...)
	}
	wanted := (&client.ListOptions{}).ApplyOptions(options)
	if !wanted.DisableReadYourWritesConsistency && (wanted.Namespace == "" || wanted.Namespace == c.late) {
		close(c.requested)
		<-c.shown
	}
	err := c.Client.List(ctx, jobs, options...)
	select {
	case <-c.shown:
	default:
		jobs.Items = slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return j.Namespace == c.late })
	}
	return err
}

// TestLateCache: a job that the cache never shows delays no start of another namespace, and counts meanwhile.
func TestLateCache(t *testing.T) {
	now := time.Now()
	c := &lateCache{Client: newClient(t), late: "busy", shown: make(chan struct{}), requested: make(chan struct{})}
	q := NewQueue(c, 2, clocktesting.NewFakePassiveClock(now))
	q.Source("NginxBackup")
	start := func(namespace, name string) bool {
		object := Waiter{"NginxBackup", types.NamespacedName{Namespace: namespace, Name: name}}
		ok, err := q.StartOrEnqueue(t.Context(), object, func() error { return c.Create(t.Context(), jobOf(owner(namespace), name, now)) })
		if err != nil {
			t.Error(err)
		}
		return ok
	}
	slow := make(chan bool)
	go func() { slow <- start("busy", "a") }()
	<-c.requested
	started := make(chan bool)
	go func() { started <- start("shop", "a") }()
	select {
	case ok := <-started:
		if !ok {
			t.Error("there is room for 2 jobs, and no second one is started")
		}
	case <-time.After(10 * time.Second):
		t.Error("a start waits for the cache of another namespace")
	}
	if start("busier", "a") {
		t.Error("a job that the cache does not show does not count")
	}
	close(c.shown)
	if !<-slow {
		t.Error("the first job was not started")
	}
	if start("busier", "a") {
		t.Error("a job that the cache shows does not count")
	}
}

// TestOneNamespace: the jobs of one namespace, which may never end, leave room for those of others.
func TestOneNamespace(t *testing.T) {
	now := time.Now()
	jobs := newClient(t)
	q := NewQueue(jobs, 10, clocktesting.NewFakePassiveClock(now))
	q.Source("NginxBackup")
	start := func(namespace string) int {
		started := 0
		for i := range 20 {
			object := Waiter{"NginxBackup", types.NamespacedName{Namespace: namespace, Name: fmt.Sprint("data-", i)}}
			ok, err := q.StartOrEnqueue(t.Context(), object, func() error {
				return jobs.Create(t.Context(), jobOf(owner(namespace), object.Name, now))
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

// countingReader counts the reads of owners, and those of them that copy what is read.
type countingReader struct {
	client.Client
	reads, copies int
}

func (r *countingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	r.reads++
	if o := (&client.GetOptions{}).ApplyOptions(options); o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
		r.copies++
	}
	return r.Client.Get(ctx, key, object, options...)
}

// TestManyJobsAreCountedQuickly: jobs that users create in any number delay the queue, for which all namespaces wait, by little.
// An owner can have a megabyte of labels.
func TestManyJobsAreCountedQuickly(t *testing.T) {
	now := time.Now()
	var objects []client.Object
	for i := range 100 {
		objects = append(objects, jobOf(owner("shop"), fmt.Sprint("job-", i), now))
	}
	reader := &countingReader{Client: newClient(t, objects...)}
	q := NewQueue(reader, 4, clocktesting.NewFakePassiveClock(now))
	if q.EnqueueIfFull(t.Context(), Waiter{"NginxBackup", types.NamespacedName{Namespace: "else", Name: "a"}}) {
		t.Error("the jobs of one namespace leave no room")
	}
	if reader.reads > 2 || reader.copies > 0 {
		t.Errorf("%d reads of owners, %d with a copy", reader.reads, reader.copies)
	}
}
