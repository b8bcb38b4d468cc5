package jobs

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/progress"
)

var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// ownJob returns a job of the backup in the namespace shop, with a UID and without a mark.
func ownJob(uid types.UID) *batchv1.Job {
	j := jobOf(owner("shop"), "data-c1", time.Now())
	j.UID = uid
	j.Labels[v1alpha1.LabelBackup], j.Labels["backup.operator.example.com/attempt"] = "data", "1"
	return j
}

func marked(j *batchv1.Job) *batchv1.Job {
	job.SetMark(testKey, j)
	return j
}

// set lists the jobs of the backup in the namespace shop.
func set(t *testing.T, c client.Client, keys ...ed25519.PrivateKey) *Set {
	t.Helper()
	runner := &Runner{Client: c, Live: c, PodReader: c, Keys: func(context.Context) []ed25519.PrivateKey { return keys }}
	found, err := runner.List(t.Context(), v1alpha1.LabelBackup, owner("shop"))
	if err != nil {
		t.Fatal(err)
	}
	return &found
}

// withUIDs returns a client of an API server that gives UIDs to jobs and refuses what refuse does.
func withUIDs(t *testing.T, refuse error, objects ...client.Object) client.Client {
	t.Helper()
	return interceptor.NewClient(newClient(t, objects...).(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			o.SetUID("new")
			return c.Create(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if refuse != nil {
				return refuse
			}
			return c.Patch(ctx, o, patch, options...)
		},
	})
}

// TestStartJob: the operator has a job only if it has marked it.
func TestStartJob(t *testing.T) {
	foreign := ownJob("foreign")
	foreign.OwnerReferences = nil
	forbidden := apierrors.NewForbidden(batchv1.Resource("jobs"), "data-c1", errors.New("no right to patch"))
	noKey := func(err error) bool { return errors.Is(err, errNoKey) }
	keys := []ed25519.PrivateKey{testKey}
	for name, tt := range map[string]struct {
		there  []client.Object
		keys   []ed25519.PrivateKey
		refuse error
		// failed reports whether the error is as expected; nil: there is none.
		failed func(error) bool
		// want is the UID of the job afterwards.
		want types.UID
	}{
		"no job":                       {keys: keys, want: "new"},
		"no key":                       {failed: noKey},
		"of another leader":            {there: []client.Object{marked(ownJob("theirs"))}, keys: keys, want: "theirs"},
		"of an earlier release":        {there: []client.Object{ownJob("old")}, keys: keys, failed: apierrors.IsAlreadyExists, want: "old"},
		"of a user who does not claim": {there: []client.Object{foreign}, keys: keys, failed: apierrors.IsAlreadyExists, want: "foreign"},
		"it cannot be marked":          {keys: keys, refuse: forbidden, failed: apierrors.IsForbidden, want: "new"},
	} {
		t.Run(name, func(t *testing.T) {
			// The pass has not seen the jobs.
			before := set(t, withUIDs(t, nil), tt.keys...)
			before.Client = withUIDs(t, tt.refuse, tt.there...)
			err := before.StartJob(t.Context(), ownJob(""))
			if tt.failed == nil && err != nil || tt.failed != nil && !tt.failed(err) {
				t.Errorf("error %v", err)
			}
			got := &batchv1.Job{}
			err = before.Client.Get(t.Context(), client.ObjectKeyFromObject(ownJob("")), got)
			if client.IgnoreNotFound(err) != nil || got.UID != tt.want {
				t.Errorf("the job is %q, want %q (%v)", got.UID, tt.want, err)
			}
			if tt.failed == nil && !job.Marked(keys, got, owner("shop").UID) {
				t.Error("it is not marked")
			}
		})
	}
}

// TestNumbersTaken: a new job has a number that no job has, even if there are no pods.
func TestNumbersTaken(t *testing.T) {
	var there []client.Object
	for attempt := range 4 {
		j := ownJob(types.UID(fmt.Sprint("old-", attempt)))
		j.Name, j.Labels["backup.operator.example.com/attempt"] = fmt.Sprint("data-c", attempt), fmt.Sprint(attempt)
		there = append(there, j)
	}
	if got := set(t, newClient(t, there...), testKey).Evaluate(job.Create, time.Now()); got.Action != progress.Start || got.Attempt != 4 {
		t.Errorf("the next step is %s, with the number %d", got.Action, got.Attempt)
	}
}

// TestEvaluate: only a job with the mark, and a result of its task, count.
func TestEvaluate(t *testing.T) {
	const deleted, created = `{"deleted":true,"completedAt":"2026-11-21T12:00:00Z"}`, `{"archive":"a","sha256":"ab","totals":{},"completedAt":"2026-11-21T12:00:00Z"}`
	copied := ownJob("copied")
	copied.Annotations = marked(ownJob("own")).Annotations
	for name, tt := range map[string]struct {
		job     *batchv1.Job
		message string
		want    progress.Action
	}{
		"the operator's own":          {marked(ownJob("own")), created, progress.Done},
		"a result of another task":    {marked(ownJob("own")), deleted, progress.Wait},
		"without a mark":              {ownJob("old"), created, progress.Start},
		"with the mark of another":    {copied, created, progress.Start},
		"deleted, and without a mark": {ownJob("old"), deleted, progress.Start},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "pod", Labels: tt.job.Labels, OwnerReferences: []metav1.OwnerReference{{UID: tt.job.UID, Controller: new(true)}},
			}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: job.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: tt.message}},
			}}
			s := set(t, newClient(t, tt.job, pod), testKey)
			got := s.Evaluate(job.Create, time.Now())
			if got.Action != tt.want {
				t.Errorf("the next step is %s: %s", got.Action, got.Message)
			}
			if got.Action == progress.Start && got.Attempt != 2 {
				t.Errorf("the next job has the number %d, which is taken", got.Attempt)
			}
			if len(s.JobsOfTask(job.Create)) != 1 {
				t.Error("the job cannot be deleted")
			}
		})
	}
}
