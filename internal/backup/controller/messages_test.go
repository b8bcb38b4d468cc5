package controller_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/backup"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/controller/nginxoperator"
	"example.com/nginx-operator/internal/backup/controller/policy"
	"example.com/nginx-operator/internal/backup/controller/restore"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/test/golden"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// stage is the backup operator on a fake API server, which does not validate. It collects the
// conditions and events of each pass.
type stage struct {
	t        *testing.T
	client   client.Client
	clock    *testclock.FakePassiveClock
	recorder eventRecorder
	runner   *jobs.Runner
	pod      podServer
	messages *golden.Messages
	policies *policy.Reconciler
}

// newStage returns a stage with room for jobs at a time, and objects.
func newStage(t *testing.T, messages *golden.Messages, room int, objects ...client.Object) *stage {
	t.Helper()
	return newStageThatRefuses(t, messages, room, func(client.Object) error { return nil }, objects...)
}

// newStageThatRefuses returns a stage whose API server refuses to create or update objects.
func newStageThatRefuses(t *testing.T, messages *golden.Messages, room int, refuse func(client.Object) error, objects ...client.Object) *stage {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, v1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.NginxBackup{}, &v1alpha1.NginxBackupPolicy{}, &v1alpha1.NginxRestore{}, &v1alpha2.NginxOperator{}).
		WithIndex(&v1alpha1.NginxBackup{}, controller.TargetNameIndex, func(o client.Object) []string {
			return []string{o.(*v1alpha1.NginxBackup).Spec.Target.Name}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				if err := refuse(o); err != nil {
					return err
				}
				if o.GetUID() == "" {
					o.SetUID(types.UID("uid-of-" + o.GetName()))
				}
				o.SetCreationTimestamp(metav1.NewTime(now))
				return c.Create(ctx, o, options...)
			},
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
				if err := refuse(o); err != nil {
					return err
				}
				return c.Update(ctx, o, options...)
			},
		}).Build()
	s := &stage{t: t, client: c, clock: testclock.NewFakePassiveClock(now), recorder: eventRecorder{messages: messages}, messages: messages}
	s.runner = &jobs.Runner{Client: c, Live: c, PodReader: c, Queue: jobs.NewQueue(c, room, s.clock), PodOptions: job.PodOptions{Image: "registry.example.com/nginx-operator:0.4.0"}, Keys: testKeys}
	s.policies = &policy.Reconciler{Client: c, Live: c, Runner: s.runner, Recorder: s.recorder, Clock: s.clock}
	return s
}

// testKeys returns the operator's keys.
func testKeys(context.Context) []ed25519.PrivateKey {
	return []ed25519.PrivateKey{ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
}

// reconcile runs one pass over an object and records its conditions and events. An error of the pass
// leads to a retry, so it is ignored.
func (s *stage) reconcile(object client.Object) (result ctrl.Result) {
	s.t.Helper()
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
	var list *[]metav1.Condition
	switch o := object.(type) {
	case *v1alpha1.NginxBackup:
		result, _ = (&backup.Reconciler{Client: s.client, Live: s.client, Runner: s.runner, Recorder: s.recorder, Version: "0.4.0", Clock: s.clock, Memory: controller.NewMemory()}).Reconcile(s.t.Context(), request)
		list = &o.Status.Conditions
	case *v1alpha1.NginxRestore:
		result, _ = (&restore.Reconciler{
			Client: s.client, Live: s.client, Runner: s.runner, Recorder: s.recorder, Clock: s.clock, HTTP: &http.Client{Transport: s.pod},
			Memory: controller.NewMemory(),
		}).Reconcile(s.t.Context(), request)
		list = &o.Status.Conditions
	case *v1alpha1.NginxBackupPolicy:
		result, _ = s.policies.Reconcile(s.t.Context(), request)
		list = &o.Status.Conditions
	case *v1alpha2.NginxOperator:
		result, _ = (&nginxoperator.Reconciler{Client: s.client, Clock: s.clock}).Reconcile(s.t.Context(), request)
		return result
	}
	if err := s.client.Get(s.t.Context(), request.NamespacedName, object); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	for _, c := range *list {
		s.messages.Add(fmt.Sprintf("condition %s=%s (%s) of an %s", c.Type, c.Status, c.Reason, kindOf(object)), c.Message)
	}
	return result
}

// eventRecorder adds events to the messages.
type eventRecorder struct {
	events.EventRecorder
	messages *golden.Messages
}

func (r eventRecorder) Eventf(regarding, _ runtime.Object, eventType, reason, _, note string, args ...any) {
	r.messages.Add(fmt.Sprintf("event %s %s of an %s", eventType, reason, kindOf(regarding)), fmt.Sprintf(note, args...))
}

// kindOf returns the kind of an object, which typed clients do not set.
func kindOf(object runtime.Object) string { return reflect.TypeOf(object).Elem().Name() }

// onlyJob returns the job in the namespace.
func (s *stage) onlyJob() *batchv1.Job {
	s.t.Helper()
	list := &batchv1.JobList{}
	if err := s.client.List(s.t.Context(), list); err != nil || len(list.Items) != 1 {
		s.t.Fatalf("there are %d jobs: %v", len(list.Items), err)
	}
	return &list.Items[0]
}

// startPod creates the pod of the only job with a status.
func (s *stage) startPod(status corev1.PodStatus) {
	s.t.Helper()
	j := s.onlyJob()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: j.Namespace, Name: j.Name + "-7xk2m", Labels: j.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: status,
	}
	if err := s.client.Create(s.t.Context(), pod); err != nil {
		s.t.Fatal(err)
	}
	pod.Status = status
	if err := s.client.Status().Update(s.t.Context(), pod); err != nil {
		s.t.Fatal(err)
	}
}

// end ends the only job and its pod, which reports a message.
func (s *stage) end(exitCode int32, message string) {
	s.t.Helper()
	s.startPod(corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  job.Container,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: "Error", Message: message}},
	}}})
	j := s.onlyJob()
	condition := batchv1.JobFailed
	if exitCode == 0 {
		condition = batchv1.JobComplete
	}
	j.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
	if err := s.client.Status().Update(s.t.Context(), j); err != nil {
		s.t.Fatal(err)
	}
}

// report ends the only job with a result.
func (s *stage) report(result job.Result) {
	s.t.Helper()
	text, err := json.Marshal(result)
	if err != nil {
		s.t.Fatal(err)
	}
	s.end(0, string(text))
}

// podServer answers the requests to a pod; without a handler, the pod cannot be reached.
type podServer struct{ handler http.Handler }

func (p podServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.handler == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("i/o timeout")}
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// overQuota refuses objects of a resource as a quota does.
func overQuota(o client.Object, resource schema.GroupResource) error {
	return apierrors.NewForbidden(resource, o.GetName(), fmt.Errorf(
		"exceeded quota: compute, requested: count/%s=1, used: count/%s=20, limited: count/%s=20", resource, resource, resource))
}

func refuseJobs(o client.Object) error {
	if _, ok := o.(*batchv1.Job); ok {
		return overQuota(o, batchv1.Resource("jobs"))
	}
	return nil
}
