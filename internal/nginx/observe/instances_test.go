package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestInstancesArePolledOnlyWhenTheyMayHaveNews: an instance is requested again only if something
// has changed since the last answer.
func TestInstancesArePolledOnlyWhenTheyMayHaveNews(t *testing.T) {
	same := func(*corev1.Pod) {}
	settledStatus := instanceapi.Status{Serving: "r1"}
	tests := map[string]struct {
		status instanceapi.Status
		err    error
		change func(*corev1.Pod)
		again  bool
		known  bool
	}{
		"nothing is under way": {settledStatus, nil, same, false, true},
		"it is silent":         {settledStatus, errors.New("refused"), same, false, false},
		"it is starting":       {instanceapi.Status{}, nil, same, true, true},
		"it has refused something": {instanceapi.Status{Serving: "r1",
			Revisions: []instanceapi.Revision{{Revision: "r2", Test: instanceapi.Failed}}}, nil, same, true, true},
		"a certificate is bad": {instanceapi.Status{Serving: "r1",
			Certificates: []instanceapi.Certificate{{Name: "a", Error: "missing"}}}, nil, same, true, true},
		"changed files are refused": {instanceapi.Status{Serving: "r1",
			ReloadProblems: []instanceapi.Problem{{Message: "no"}}}, nil, same, true, true},
		"it is requested to test": {settledStatus, nil, func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{naming.AnnotationConfigTest: "r2"}
		}, true, true},
		"its container was restarted": {settledStatus, nil, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].ContainerID = "other"
		}, true, true},
		"its files were changed": {settledStatus, nil, func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{naming.AnnotationSync: "2"}
		}, true, true},
		"it became ready": {settledStatus, nil, func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0].Ready = true
		}, true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			queries := 0
			o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
				queries++
				return tt.status, tt.err
			}, nil)
			nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			now := time.Now()
			o.answers.now = func() time.Time { return now }
			pod := running("web-1")
			state := State{Pods: []corev1.Pod{*pod}}
			gather(t, o, nginx, &state)
			if tt.err == nil {
				// As long as a pod is fresh, each pass requests its status.
				now = now.Add(freshFor + time.Second)
				gather(t, o, nginx, &state)
				if queries != 2 {
					t.Errorf("a fresh pod was queried %d times in two passes", queries)
				}
				queries = 1
			}
			if _, known := state.Instances["web-1"]; known != tt.known {
				t.Errorf("the instance is known: %t, want %t", known, tt.known)
			}
			tt.change(&state.Pods[0])
			gather(t, o, nginx, &state)
			if again := queries > 1; again != tt.again {
				t.Errorf("the instance was queried again: %t, want %t", again, tt.again)
			}
		})
	}
}

// TestSilenceIsNotConcludedFromOneQuestion: a ready pod counts as silent only after several failed
// requests, and is then requested once at a time.
func TestSilenceIsNotConcludedFromOneQuestion(t *testing.T) {
	var failures, queries int
	o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
		queries++
		if queries <= failures {
			return instanceapi.Status{}, errors.New("timeout")
		}
		return instanceapi.Status{Serving: "r1"}, nil
	}, nil)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	now := time.Now()
	o.answers.now = func() time.Time { return now }
	ready := running("web-1")
	ready.Status.ContainerStatuses[0].Ready = true
	state := State{Pods: []corev1.Pod{*ready}}
	for _, step := range []struct {
		what              string
		failures, queries int
		known             bool
	}{
		{"a fresh operator gets through in the end", 2, 3, true},
		{"so does one that has got answers", 2, 3, true},
		{"it is silent", 100, 3, false},
		{"it is still silent", 100, 1, false},
		{"it answers again, which no pass waits for", 0, 1, false},
		{"and the next pass knows", 0, 0, true},
	} {
		failures, queries = step.failures, 0
		gather(t, o, nginx, &state)
		if _, known := state.Instances["web-1"]; known != step.known || queries != step.queries {
			t.Errorf("%s: queried %d times, want %d; the instance is known: %t, want %t", step.what, queries, step.queries, known, step.known)
		}
		now = now.Add(settledFor + time.Second)
	}
	state.Pods[0].Status.ContainerStatuses[0].Ready = false
	failures, queries = 100, 0
	gather(t, o, nginx, &state)
	if queries != 1 {
		t.Errorf("a pod that is not ready was queried %d times", queries)
	}
}

// TestServingSecondsGoOn: ServingSeconds in a cached answer increases with the answer's age.
func TestServingSecondsGoOn(t *testing.T) {
	queries := 0
	o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
		queries++
		return instanceapi.Status{Serving: "r1", ServingSeconds: new(int64(7))}, nil
	}, nil)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	now := time.Now()
	o.answers.now = func() time.Time { return now }
	state := State{Pods: []corev1.Pod{*running("web-1")}}
	gather(t, o, nginx, &state)
	now = now.Add(freshFor + time.Second)
	gather(t, o, nginx, &state)
	for _, want := range []int64{7, 17, 27} {
		gather(t, o, nginx, &state)
		if got := *state.Instances["web-1"].ServingSeconds; got != want || queries != 2 {
			t.Errorf("it has served for %d s and was queried %d times, want %d s and twice", got, queries, want)
		}
		now = now.Add(10 * time.Second)
	}
}

func TestDeletedObjectsAreForgotten(t *testing.T) {
	o := New(nil, nil, nil, func(context.Context, string) (instanceapi.Status, error) {
		return instanceapi.Status{Serving: "r1"}, nil
	}, nil)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	state := State{Pods: []corev1.Pod{*running("web-1"), *running("web-2")}}
	gather(t, o, nginx, &state)
	state.Pods = state.Pods[:1]
	gather(t, o, nginx, &state)
	for _, answers := range o.answers.pods {
		if len(answers) != 1 {
			t.Errorf("%d answers are kept for 1 pod", len(answers))
		}
	}
	state.Pods = nil
	gather(t, o, nginx, &state)
	if n := len(o.answers.pods); n != 0 {
		t.Errorf("answers of %d applications without pods are kept", n)
	}
}

// gather runs a pass and waits for all requests, including those in the background.
func gather(t *testing.T, o *Observer, nginx *v1alpha2.NginxOperator, state *State) {
	t.Helper()
	o.answers.wait = time.Minute
	defer finishCalls(o, nginx)
	if err := o.instances(t.Context(), application.Of(nginx), state); err != nil {
		t.Fatal(err)
	}
}

// finishCalls waits for the requests that no pass waits for.
func finishCalls(o *Observer, nginx *v1alpha2.NginxOperator) {
	var calls []*call
	o.answers.mu.Lock()
	for _, known := range o.answers.pods[types.NamespacedName{Namespace: nginx.Namespace, Name: nginx.Name}] {
		if known.call != nil {
			calls = append(calls, known.call)
		}
	}
	o.answers.mu.Unlock()
	for _, c := range calls {
		<-c.done
	}
}

func running(name string) *corev1.Pod {
	pod := &corev1.Pod{}
	pod.Name, pod.UID = name, types.UID("uid-"+name)
	pod.Status.PodIP = "10.0.0.1"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: naming.NginxContainer, ContainerID: "first", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	return pod
}

// TestSettled: an instance that takes orders settles by what it was ordered, and one of a release before 0.5 when it
// knows its annotations.
func TestSettled(t *testing.T) {
	requested := instanceapi.Requested{Test: "r1", Load: "r1"}
	ordered := &instanceapi.Orders{}
	for what, tt := range map[string]struct {
		status      instanceapi.Status
		annotations instanceapi.Requested
		want        bool
	}{
		"nothing was ordered":            {instanceapi.Status{Orders: ordered}, instanceapi.Requested{}, true},
		"it serves what was ordered":     {instanceapi.Status{Orders: ordered, Requested: requested}, instanceapi.Requested{}, true},
		"it has another one to test":     {instanceapi.Status{Orders: ordered, Requested: instanceapi.Requested{Test: "r2"}}, instanceapi.Requested{}, false},
		"it has another one to load":     {instanceapi.Status{Orders: ordered, Requested: instanceapi.Requested{Load: "r2"}}, instanceapi.Requested{}, false},
		"it knows its annotations":       {instanceapi.Status{Requested: requested}, requested, true},
		"its annotations are on the way": {instanceapi.Status{}, requested, false},
	} {
		tt.status.Serving = "r1"
		if got := settled(&tt.status, tt.annotations); got != tt.want {
			t.Errorf("%s: settled %t, want %t", what, got, tt.want)
		}
	}
}
