package apply

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/test/plan"
)

func TestDecide(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	planned, _, err := plan.Fresh(nginx, revision.Options{DefaultImage: "nginx"})
	if err != nil {
		t.Fatal(err)
	}
	var account owned.Intent
	for _, intent := range planned.Intents {
		if intent.Kind.Name == "ServiceAccount" {
			account = intent
		}
	}
	hash, err := hashIntent(account.Fields)
	if err != nil {
		t.Fatal(err)
	}
	// live returns the object as the API server holds it after an apply.
	live := func(change func(*corev1.ServiceAccount)) owned.Object {
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
	absent := owned.Intent{Kind: account.Kind, Name: account.Name}
	tests := map[string]struct {
		intent owned.Intent
		live   owned.Object
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
			change, err := settings.compare(nginx, tt.intent, tt.live)
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

func TestSuspendWritesNothingAndReportsWhat(t *testing.T) {
	kind := desired.Kinds(application.KindDeployment)[0]
	outcome := Suspend([]Change{{Intent: owned.Intent{Kind: kind}, Action: Update}, {Intent: owned.Intent{Kind: kind}, Action: Leave}})
	if len(outcome.Pending) != 1 || outcome.Pending[0] != kind.Name {
		t.Errorf("pending = %v, want [%s]", outcome.Pending, kind.Name)
	}
}

// BenchmarkDecide compares an application with live objects that match it, which is the result of
// nearly every pass, and with none.
func BenchmarkDecide(b *testing.B) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "ours"}}
	planned, _, err := plan.Fresh(nginx, revision.Options{DefaultImage: "nginx", InstanceImage: "operator"})
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name  string
		state observe.State
		want  Action
	}{{"unchanged", applied(b, planned), Leave}, {"nothing there", observe.State{}, Create}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changes, err := settings.Compare(nginx, planned.Intents, bb.state.Owned)
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

// applied returns the objects of a plan as the API server holds them.
func applied(t testing.TB, planned plan.Plan) observe.State {
	t.Helper()
	state := observe.State{Owned: map[owned.Key]owned.Object{}}
	for _, intent := range planned.Intents {
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
		state.Owned[owned.Key{Kind: intent.Kind.Name, Name: intent.Name}] = live
	}
	return state
}
