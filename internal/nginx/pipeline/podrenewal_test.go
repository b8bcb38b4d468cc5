package pipeline

import (
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/kube/signingkey"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/plan"
)

// settledState returns the state of an application that serves, with pods that an operator with
// these options created.
func settledState(t *testing.T, nginx *v1alpha2.NginxOperator, options revision.Options) observe.State {
	t.Helper()
	state := observe.State{Owned: map[owned.Key]owned.Object{}}
	planned, _, err := plan.Of(revision.Input{Nginx: nginx, State: state, Options: options, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, intent := range planned.Intents {
		if !intent.ShouldExist() {
			continue
		}
		object := intent.Kind.New()
		text, err := json.Marshal(intent.Fields)
		if err == nil {
			err = json.Unmarshal(text, object)
		}
		if err != nil {
			t.Fatal(err)
		}
		state.Owned[owned.Key{Kind: intent.Kind.Name, Name: intent.Name}] = object
	}
	d := state.Deployment()
	d.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", Annotations: d.Spec.Template.Annotations}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	state.Pods = []corev1.Pod{pod}
	state.Instances = map[string]*instanceapi.Status{"pod": {Serving: planned.Run.Config.Revision, Stable: planned.Run.Config.Revision}}
	good := planned.Records[0].Revision
	good.UID, good.State, good.Stage = "uid", history.StateGood, ""
	state.History = history.History{good}
	return state
}

func declared(name string) *v1alpha2.NginxOperator {
	return &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
}

// record returns a ControllerRevision from the history of another application.
func record(state history.State, stage history.Stage, failed, cause string) client.Object {
	r := history.Revision{State: state, Stage: stage, Cause: cause, Failure: history.Failure{Attempt: failed}}
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Namespace: "other", Name: "other-1", Labels: r.Labels(), Annotations: r.Annotations(),
	}}
}

func TestRenew(t *testing.T) {
	older := revision.Options{DefaultImage: "nginx:1", InstanceImage: "operator:v1"}
	newer := revision.Options{DefaultImage: "nginx:2", InstanceImage: "operator:v2"}
	tests := map[string]struct {
		options revision.Options
		change  func(*v1alpha2.NginxOperator, *observe.State)
		others  []client.Object
		current string
		renewed bool
		later   bool
	}{
		"none is renewed":              {newer, nil, nil, "", true, false},
		"nothing to renew":             {older, nil, nil, "", false, false},
		"another one is current":       {newer, nil, nil, "other", false, true},
		"another one is being renewed": {newer, nil, []client.Object{record(history.StateCandidate, history.Proving, "", history.CauseOperator)}, "", false, true},
		"another one has failed":       {newer, nil, []client.Object{record(history.StateFailed, "", "a", history.CauseOperator)}, "", false, true},
		"a user's rollout has failed":  {newer, nil, []client.Object{record(history.StateFailed, "", "a", "image")}, "", true, false},
		"another one was renewed":      {newer, nil, []client.Object{record(history.StateGood, "", "", history.CauseOperator)}, "", true, false},
		"suspended":                    {newer, func(n *v1alpha2.NginxOperator, _ *observe.State) { n.Spec.Suspend = new(true) }, nil, "", false, false},
		"it does not serve":            {newer, func(_ *v1alpha2.NginxOperator, s *observe.State) { s.Instances = nil }, nil, "", false, false},
		"its pods are being replaced":  {newer, func(_ *v1alpha2.NginxOperator, s *observe.State) { s.Deployment().Status.UpdatedReplicas = 0 }, nil, "", false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			nginx := declared("web")
			state := settledState(t, nginx, older)
			if tt.change != nil {
				tt.change(nginx, &state)
			}
			r := &Pipeline{Options: tt.options, RenewPods: true, Keys: &signingkey.Controller{},
				Histories: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(tt.others...).Build()}
			if tt.current != "" {
				r.renewals.tryAcquire(types.NamespacedName{Name: tt.current})
			}
			p := &pass{app: application.Of(nginx), state: state, now: time.Now()}
			if err := r.selectRevision(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			after := p.selection.RequeueAfter
			if renewed := p.selection.Run.Hash != state.LiveTemplate(); renewed != tt.renewed || (after > 0) != tt.later {
				t.Errorf("renewed %t, next pass after %s; want %t, %t", renewed, after, tt.renewed, tt.later)
			}
			if records := p.selection.Records; tt.renewed && (len(records) != 1 || !records[0].Revision.OfOperator()) {
				t.Error("the history does not have the cause")
			}
		})
	}
}

// TestRenewalEnds: an application that can no longer be renewed does not block others.
func TestRenewalEnds(t *testing.T) {
	older := revision.Options{DefaultImage: "nginx:1", InstanceImage: "operator:v1"}
	nginx := declared("web")
	state := settledState(t, nginx, older)
	nginx.Spec.Suspend = new(true)
	r := &Pipeline{Options: revision.Options{DefaultImage: "nginx:2", InstanceImage: "operator:v2"}, RenewPods: true, Keys: &signingkey.Controller{},
		Histories: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()}
	r.renewals.tryAcquire(client.ObjectKeyFromObject(nginx))
	if err := r.selectRevision(t.Context(), &pass{app: application.Of(nginx), state: state, now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if !r.renewals.tryAcquire(types.NamespacedName{Name: "other"}) {
		t.Error("it is suspended, and still blocks others")
	}
}

// TestOneRenewalAtATime: an application that is renewed or deleted lets another one begin.
func TestOneRenewalAtATime(t *testing.T) {
	var w renewals
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	for range 2 {
		if !w.tryAcquire(a) {
			t.Error("a cannot acquire the renewal")
		}
	}
	if w.tryAcquire(b) {
		t.Error("b acquires the renewal that a holds")
	}
	w.release(b)
	if w.tryAcquire(b) {
		t.Error("b released the renewal that a holds")
	}
	w.release(a)
	if !w.tryAcquire(b) {
		t.Error("a has released the renewal, and b cannot acquire it")
	}
}
