package controller

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/nginx/naming"
)

// scaled returns a reconciler of a cache whose StatefulSet has two shards, and which declares another number.
func scaled(t *testing.T, shards int32) (*Reconciler, *v1alpha1.NginxCache, *clocktesting.FakeClock) {
	t.Helper()
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front", UID: "cache"}}
	cache.Spec.Shards = v1alpha1.Shards{Replicas: &shards, HandOver: "5m"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front-shards", Annotations: map[string]string{"theirs": "x"}}}
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	set.Spec.Replicas = new(int32(2))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	return &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(set).Build(), Clock: clock}, cache, clock
}

// TestRunningWithoutStatefulSet: while a StatefulSet is created again, only pods that it can have left tell how many there were.
func TestRunningWithoutStatefulSet(t *testing.T) {
	labelled := func(name string, owners ...metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: naming.SelectorLabels("front-shards"), OwnerReferences: owners}}
	}
	ofSet := func(kind, name string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: name, UID: "gone", Controller: new(true)}
	}
	ring := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("front-edge")}}
	ring.Data = map[string]string{"edge.conf": strings.Repeat(fmt.Sprintf("server shard:%d resolve ;\n", cacheconf.Port), 3)}
	foreign := ring.DeepCopy()
	ring.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind, Name: "front", UID: "cache", Controller: new(true)}}
	for name, tt := range map[string]struct {
		pods []client.Object
		want int32
	}{
		"no pods":                  {nil, 0},
		"orphans":                  {[]client.Object{labelled("front-shards-0"), labelled("front-shards-1")}, 2},
		"not deleted yet":          {[]client.Object{labelled("front-shards-1", ofSet("StatefulSet", "front-shards"))}, 2},
		"as many as the edges use": {[]client.Object{labelled("front-shards-2"), ring}, 3},
		"more than are known":      {[]client.Object{labelled("front-shards-0"), labelled("front-shards-63")}, 2},
		"a ring of someone else":   {[]client.Object{labelled("front-shards-2"), foreign}, 2},
		"of something else":        {[]client.Object{labelled("front-shards-5", ofSet("ReplicaSet", "front-shards"))}, 0},
		"of another StatefulSet":   {[]client.Object{labelled("front-shards-5", ofSet("StatefulSet", "liar"))}, 0},
		"of another name":          {[]client.Object{labelled("liar-5")}, 0},
		"more than a cache can be": {[]client.Object{labelled("front-shards-2000000000"), labelled("front-shards-0")}, 1},
	} {
		r, cache, _ := scaled(t, 2)
		if err := r.Client.Delete(t.Context(), shardsOf(t, r)); err != nil {
			t.Fatal(err)
		}
		for _, pod := range tt.pods {
			if err := r.Client.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
		}
		if _, got, err := r.running(t.Context(), cache, "front-shards"); err != nil || got != tt.want {
			t.Errorf("%s: %d pods run (%v), want %d", name, got, err, tt.want)
		}
	}
	r, cache, _ := scaled(t, 2)
	set := shardsOf(t, r)
	set.Spec.Replicas = new(int32(math.MaxInt32))
	if err := r.Client.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if _, got, err := r.running(t.Context(), cache, "front-shards"); err != nil || got != v1alpha1.MaxShards {
		t.Errorf("%d pods run (%v) of a StatefulSet that others scaled", got, err)
	}
}

// full reads from caches that have no room for the content of any object.
type full struct{ client.Client }

// Get implements client.Reader.
func (f full) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := f.Client.Get(ctx, key, object, options...); err != nil {
		return err
	}
	whole := func(obj any) (any, error) { return obj, nil }
	bare, err := cachedcontent.New(nil).Within(cachedcontent.Allowance{Budget: budget.New(0, 0)}, whole)(object.DeepCopyObject())
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(bare).Elem())
	return err
}

// TestFullCaches: the shards, their hand-over and the ring of the edges are known although the caches have no room for them.
func TestFullCaches(t *testing.T) {
	r, cache, clock := scaled(t, 3)
	plan(t, r, cache)
	clock.Step(time.Minute)
	ring := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("front-edge")}}
	ring.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
	ring.Data = map[string]string{"edge.conf": fmt.Sprintf("server shard:%d resolve ;", cacheconf.Port)}
	if err := r.Client.Create(t.Context(), ring); err != nil {
		t.Fatal(err)
	}
	r.Client, r.Live = full{r.Client}, r.Client
	if p := plan(t, r, cache); p.State == nil || p.State.From != 2 || p.State.Since.Minute() != 0 {
		t.Errorf("the hand-over is %+v", p.State)
	}
	if _, running, err := r.running(t.Context(), cache, "front-shards"); err != nil || running != 2 {
		t.Errorf("%d shards run: %v", running, err)
	}
	if serving, err := r.servedByEdges(t.Context(), cache); err != nil || cacheconf.RingSize(serving) != 1 {
		t.Errorf("the edges serve %v: %v", serving, err)
	}
}

// TestChangedController: a StatefulSet whose controller a user has changed to another kind of the same UID is cached without its
// content, and counts as one of another owner.
func TestChangedController(t *testing.T) {
	r, cache, _ := scaled(t, 2)
	set := shardsOf(t, r)
	set.Spec.Replicas = nil
	if err := r.Client.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if set, running, err := r.running(t.Context(), cache, "front-shards"); err != nil || set != nil || running != 0 {
		t.Errorf("%d shards run: %v", running, err)
	}
}

// shardsOf returns the StatefulSet of the shards.
func shardsOf(t *testing.T, r *Reconciler) *appsv1.StatefulSet {
	t.Helper()
	set := &appsv1.StatefulSet{}
	if err := r.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "front-shards"}, set); err != nil {
		t.Fatal(err)
	}
	if set.Annotations["theirs"] != "x" {
		t.Error("the annotation of someone else is gone")
	}
	return set
}

func plan(t *testing.T, r *Reconciler, cache *v1alpha1.NginxCache) handover.Plan {
	t.Helper()
	p, err := r.planHandOver(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantRecorded checks what is recorded of a hand-over, and when its step ends.
func wantRecorded(t *testing.T, r *Reconciler, cache *v1alpha1.NginxCache, p handover.Plan, want string, ends time.Duration) {
	t.Helper()
	if got := shardsOf(t, r).Annotations[handover.Annotation]; got != want || r.nextStep(cache, p) != ends {
		t.Errorf("recorded %q, want %q: %+v", got, want, p)
	}
}

// wantAtRest checks that another pass writes nothing.
func wantAtRest(t *testing.T, r *Reconciler, cache *v1alpha1.NginxCache) handover.Plan {
	t.Helper()
	before := shardsOf(t, r)
	p := plan(t, r, cache)
	if shardsOf(t, r).ResourceVersion != before.ResourceVersion {
		t.Error("the same was recorded again")
	}
	return p
}

// TestHandOver: a hand-over is recorded when it begins, and when the edges have the new ring, and no more when it has
// ended. At rest, nothing is written.
func TestHandOver(t *testing.T) {
	r, cache, clock := scaled(t, 3)
	p := plan(t, r, cache)
	wantRecorded(t, r, cache, p, `{"from":2,"to":3,"since":"2026-05-01T12:00:00Z"}`, 5*time.Minute)
	clock.Step(time.Minute)
	p = wantAtRest(t, r, cache)
	if err := r.switchHandOver(t.Context(), cache, &p); err != nil {
		t.Fatal(err)
	}
	wantRecorded(t, r, cache, p, `{"from":2,"to":3,"since":"2026-05-01T12:01:00Z","switched":true}`, 5*time.Minute)
	set := shardsOf(t, r)
	set.Spec.Replicas = new(int32(3))
	if err := r.Client.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	clock.Step(5 * time.Minute)
	p = plan(t, r, cache)
	wantRecorded(t, r, cache, p, "", 0)
	if _, ok := shardsOf(t, r).Annotations[handover.Annotation]; ok || p.Previous != 0 {
		t.Errorf("the hand-over has not ended: %+v", p)
	}
	wantAtRest(t, r, cache)
}

// TestHandOverSuspended: while the cache is suspended, nothing is recorded, and no pass comes by time.
func TestHandOverSuspended(t *testing.T) {
	r, cache, _ := scaled(t, 3)
	cache.Spec.Suspend = new(true)
	p := plan(t, r, cache)
	if got, ok := shardsOf(t, r).Annotations[handover.Annotation]; ok || r.nextStep(cache, p) != 0 {
		t.Errorf("%q is recorded: %+v", got, p)
	}
}

// TestHandOverOfAnother: a StatefulSet that is not the cache's is left alone.
func TestHandOverOfAnother(t *testing.T) {
	r, cache, _ := scaled(t, 3)
	cache.UID = "another"
	if p := plan(t, r, cache); p.State != nil || p.Shards != 3 {
		t.Errorf("%+v", p)
	}
	if got, ok := shardsOf(t, r).Annotations[handover.Annotation]; ok {
		t.Errorf("%q is recorded", got)
	}
}

// TestNewShardsReady: only the shards that a hand-over adds have to be ready.
func TestNewShardsReady(t *testing.T) {
	ready := func(name string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return p
	}
	waits := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "front-shards-3"}}
	for _, tt := range []struct {
		from, to int32
		pods     []corev1.Pod
		want     bool
	}{
		{2, 3, []corev1.Pod{ready("front-shards-2")}, true},
		{2, 4, []corev1.Pod{ready("front-shards-2")}, false},
		{2, 4, []corev1.Pod{ready("front-shards-2"), waits}, false},
		{2, 4, []corev1.Pod{ready("front-shards-3"), ready("front-shards-2")}, true},
		{4, 2, nil, true},
	} {
		if got := newShardsReady(&handover.State{From: tt.from, To: tt.to}, tt.pods); got != tt.want {
			t.Errorf("%d → %d: %t", tt.from, tt.to, got)
		}
	}
}
