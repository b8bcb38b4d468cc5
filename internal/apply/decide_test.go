package apply

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
)

func TestDecide(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	plan, _, err := desired.Build(nginx, observe.State{}, desired.Options{DefaultImage: "nginx"})
	if err != nil {
		t.Fatal(err)
	}
	var account desired.Intent
	for _, intent := range plan.Intents {
		if intent.Kind.Name == "ServiceAccount" {
			account = intent
		}
	}
	hash, err := hashIntent(account.Fields)
	if err != nil {
		t.Fatal(err)
	}
	// live is the object as the API server would hold it after an apply.
	live := func(change func(*corev1.ServiceAccount)) observe.Object {
		sa := &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: account.Name, Labels: naming.Labels("web"),
				Annotations:     map[string]string{naming.AnnotationIntent: hash},
				OwnerReferences: []metav1.OwnerReference{owner("ours", "web")},
			},
			AutomountServiceAccountToken: new(false),
		}
		change(sa)
		return sa
	}
	absent := desired.Intent{Kind: account.Kind, Name: account.Name}
	tests := map[string]struct {
		intent desired.Intent
		live   observe.Object
		want   Action
	}{
		"as it should be": {account, live(func(*corev1.ServiceAccount) {}), Leave},
		"not there":       {account, nil, Create},
		"intent changed": {account, live(func(sa *corev1.ServiceAccount) {
			sa.Annotations[naming.AnnotationIntent] = "other"
		}), Update},
		"field changed": {account, live(func(sa *corev1.ServiceAccount) { sa.AutomountServiceAccountToken = new(true) }), Heal},
		"label removed": {account, live(func(sa *corev1.ServiceAccount) { sa.Labels = nil }), Heal},
		"label added":   {account, live(func(sa *corev1.ServiceAccount) { sa.Labels["mine"] = "x" }), Leave},
		"being deleted": {account, live(func(sa *corev1.ServiceAccount) { sa.DeletionTimestamp = new(metav1.Now()) }), Wait},
		"of an earlier resource of the same name": {account, live(func(sa *corev1.ServiceAccount) {
			sa.OwnerReferences[0].UID = "earlier"
		}), Wait},
		"of nobody": {account, live(func(sa *corev1.ServiceAccount) { sa.OwnerReferences = nil }), Conflict},
		"of other kind": {account, live(func(sa *corev1.ServiceAccount) {
			sa.OwnerReferences[0] = metav1.OwnerReference{Kind: "Other", UID: "x", Controller: new(true)}
		}), Conflict},
		"should not exist":             {absent, live(func(*corev1.ServiceAccount) {}), Delete},
		"should not exist and doesn't": {absent, nil, Leave},
		"should not exist, not ours":   {absent, live(func(sa *corev1.ServiceAccount) { sa.OwnerReferences[0].UID = "other" }), Leave},
		"should not exist, going":      {absent, live(func(sa *corev1.ServiceAccount) { sa.DeletionTimestamp = new(metav1.Now()) }), Leave},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			change, err := decide(nginx, tt.intent, tt.live)
			if err != nil {
				t.Fatal(err)
			}
			if change.Action != tt.want {
				t.Errorf("action = %s, want %s", change.Action, tt.want)
			}
		})
	}
}

func owner(uid types.UID, name string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind, Name: name, UID: uid, Controller: new(true),
	}
}

func TestSuspendWritesNothingAndTellsWhat(t *testing.T) {
	kind := desired.Kinds()[0]
	outcome := Suspend([]Change{{Intent: desired.Intent{Kind: kind}, Action: Update}, {Intent: desired.Intent{Kind: kind}, Action: Leave}}, nil)
	if len(outcome.Pending) != 1 || outcome.Pending[0] != kind.Name {
		t.Errorf("pending = %v, want [%s]", outcome.Pending, kind.Name)
	}
}

// BenchmarkDecide compares an application with live objects that are as they should be, which
// is what nearly every pass comes to, and with none.
func BenchmarkDecide(b *testing.B) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	plan, _, err := desired.Build(nginx, observe.State{}, desired.Options{DefaultImage: "nginx", InstanceImage: "operator"})
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name  string
		state observe.State
		want  Action
	}{{"unchanged", applied(b, plan), Leave}, {"nothing there", observe.State{}, Create}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changes, err := Decide(nginx, plan, bb.state)
				if err != nil {
					b.Fatal(err)
				}
				for _, change := range changes {
					if change.Intent.ShouldExist() && change.Action != bb.want {
						b.Fatalf("%s %s: %s, want %s", change.Intent.Kind.Name, change.Intent.Name, change.Action, bb.want)
					}
				}
			}
		})
	}
}

// applied are the objects of a plan as the API server would hold them.
func applied(t testing.TB, plan *desired.Plan) observe.State {
	t.Helper()
	state := observe.State{Owned: map[observe.Key]observe.Object{}}
	for _, intent := range plan.Intents {
		if !intent.ShouldExist() {
			continue
		}
		hash, err := hashIntent(intent.Fields)
		if err != nil {
			t.Fatal(err)
		}
		live := intent.Kind.New()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(intent.Fields, live); err != nil {
			t.Fatal(err)
		}
		annotations := maps.Clone(live.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[naming.AnnotationIntent] = hash
		live.SetAnnotations(annotations)
		state.Owned[observe.Key{Kind: intent.Kind.Name, Name: intent.Name}] = live
	}
	return state
}
