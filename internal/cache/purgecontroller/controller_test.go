package purgecontroller

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/cache/v1alpha1"
	cachepurge "example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/instance/orders"
	"example.com/nginx-operator/internal/instance/purge"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/cachedcontent"
)

var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// instance is the part of an instance manager that takes purges.
type instance struct {
	receiver *orders.Receiver
	purges   *purge.Keeper
	dir      string
}

// world is a cluster with a cache of two edges and two shards.
type world struct {
	t         *testing.T
	kube      client.Client
	clock     *clocktesting.FakeClock
	operator  *Reconciler
	mu        sync.Mutex
	instances map[string]*instance
	// silent are the addresses of pods that do not answer.
	silent map[string]bool
	// sent are the names of pods that were sent purges, in their order; requests counts the requests for a status.
	sent     []string
	requests int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front", UID: "cache"}}
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.UnixMilli(1e12)), instances: map[string]*instance{}, silent: map[string]bool{}}
	w.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(cache).WithStatusSubresource(&v1alpha1.NginxCachePurge{}).
		WithIndex(&v1alpha1.NginxCachePurge{}, indexCache, func(o client.Object) []string {
			return []string{o.(*v1alpha1.NginxCachePurge).Spec.CacheRef.Name}
		}).Build()
	w.restartOperator()
	for _, name := range []string{"front-shards", "front-edge"} {
		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
		set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))}
		set.Spec.Replicas = new(int32(2))
		if err := w.kube.Create(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"front-edge-0", "front-edge-1", "front-shards-0", "front-shards-1"} {
		w.startPod(name, t.TempDir())
	}
	return w
}

func (w *world) restartOperator() {
	w.operator = &Reconciler{
		Client: w.kube, Live: w.kube, Instances: w, Recorder: events.NewFakeRecorder(100), Clock: w.clock,
		Keys: func() []ed25519.PrivateKey { return []ed25519.PrivateKey{signingKey} },
	}
}

// startPod creates a pod, or starts its container again. Its cache is in a folder.
func (w *world) startPod(name, dir string) {
	w.t.Helper()
	mounted := w.t.TempDir()
	if err := os.WriteFile(filepath.Join(mounted, instanceapi.FilePurges), []byte("{}"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	purges, err := purge.NewKeeper(dir, mounted, purge.Objects{Dir: filepath.Join(dir, instanceapi.DirObjects), AwaitWorkers: func(context.Context) error { return nil }})
	if err == nil {
		err = purges.CatchUp(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	trust := instanceapi.Trust{
		Application: instanceapi.Application{Namespace: "shop", Name: "front", UID: "cache"},
		Keys:        []instanceapi.PublicKey{instanceapi.NewPublicKey(signingKey.Public().(ed25519.PublicKey))},
	}
	w.instances[name] = &instance{orders.NewReceiver(name, func() instanceapi.Trust { return trust }), purges, dir}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(name + fmt.Sprint(len(w.sent))),
		Labels:          map[string]string{v1alpha1.LabelNginxCache: "front", v1alpha1.LabelTier: strings.Split(name, "-")[1]},
		OwnerReferences: ofStatefulSet(name[:len(name)-2], types.UID(name[:len(name)-2])),
	}}
	pod.Status.PodIP = name
	if err := w.kube.Create(w.t.Context(), pod); client.IgnoreAlreadyExists(err) != nil {
		w.t.Fatal(err)
	}
}

func (w *world) removePod(name string) string {
	w.t.Helper()
	if err := w.kube.Delete(w.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}); err != nil {
		w.t.Fatal(err)
	}
	return w.instances[name].dir
}

// Status implements Instances.
func (w *world) Status(_ context.Context, podIP string) (instanceapi.Status, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	if w.silent[podIP] {
		return instanceapi.Status{}, errors.New("no route to host")
	}
	i := w.instances[podIP]
	return instanceapi.Status{Purged: i.purges.Report(), Orders: i.receiver.Describe()}, nil
}

// Purge implements Instances.
func (w *world) Purge(ctx context.Context, podIP string, signed instanceapi.SignedOrder) (instanceapi.Status, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent[podIP] {
		return instanceapi.Status{}, errors.New("no route to host")
	}
	i := w.instances[podIP]
	r := httptest.NewRequest(http.MethodPost, instanceapi.PathPurges, bytes.NewReader(signed.Body))
	r.Header.Set(instanceapi.HeaderOrder, signed.Order)
	r.Header.Set(instanceapi.HeaderSignature, signed.Signature)
	purges, refusal := i.receiver.ReceivePurges(r)
	if refusal != "" {
		return instanceapi.Status{}, &instanceapi.RefusedError{Address: podIP, Refusal: refusal}
	}
	w.sent = append(w.sent, podIP)
	if err := i.purges.Apply(ctx, purges); err != nil {
		w.t.Error(err)
	}
	return instanceapi.Status{Purged: i.purges.Report(), Orders: i.receiver.Describe()}, nil
}

func (w *world) create(name string, change func(*v1alpha1.NginxCachePurgeSpec)) {
	w.t.Helper()
	p := &v1alpha1.NginxCachePurge{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(w.clock.Now())}}
	p.Spec.CacheRef.Name, p.Spec.URLs = "front", []string{"https://a/" + name}
	if change != nil {
		change(&p.Spec)
	}
	if err := w.kube.Create(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
}

// pass makes a pass, and returns the names of those that were sent purges.
func (w *world) pass() (sent []string, after time.Duration) {
	w.t.Helper()
	w.clock.Step(time.Second)
	w.sent = nil
	result, err := w.operator.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "front"}})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.sent, result.RequeueAfter
}

// want fails the test unless a purge has a reason, a progress and a message.
func (w *world) want(name, reason, progress, message string) {
	w.t.Helper()
	p := &v1alpha1.NginxCachePurge{}
	if err := w.kube.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, p); err != nil {
		w.t.Fatal(err)
	}
	if len(p.Status.Conditions) != 1 {
		w.t.Fatalf("%s has no condition", name)
	}
	c := p.Status.Conditions[0]
	if c.Reason != reason || (c.Status == metav1.ConditionTrue) != (reason == v1alpha1.ReasonPurged) || p.Status.Progress != progress || !strings.Contains(c.Message, message) {
		w.t.Errorf("%s is %s (%s, %s): %s", name, c.Reason, c.Status, p.Status.Progress, c.Message)
	}
	if (p.Status.CompletionTime != nil) != (reason == v1alpha1.ReasonPurged) {
		w.t.Errorf("%s was completed at %v", name, p.Status.CompletionTime)
	}
}

// TestShardsFirst: the edges purge when all shards have, and one request to each pod is enough for the next purge.
func TestShardsFirst(t *testing.T) {
	w := newWorld(t)
	w.create("one", nil)
	sent, after := w.pass()
	if slices.Sort(sent[:2]); len(sent) != 4 || sent[0] != "front-shards-0" || sent[1] != "front-shards-1" || after != time.Hour {
		t.Errorf("sent to %v, and the next pass is after %s", sent, after)
	}
	w.want("one", v1alpha1.ReasonPurged, "4/4", "all 4 have purged")
	requests := w.requests
	w.create("two", nil)
	w.pass()
	w.want("two", v1alpha1.ReasonPurged, "4/4", "")
	if w.requests != requests {
		t.Errorf("%d statuses were requested for the second purge", w.requests-requests)
	}
	if sent, _ := w.pass(); len(sent) > 0 {
		t.Errorf("at rest, purges were sent to %v", sent)
	}
}

// TestSilentPods: no edge purges before a silent shard has, and a purge waits for a silent edge. The status says so.
func TestSilentPods(t *testing.T) {
	w := newWorld(t)
	w.silent["front-shards-1"] = true
	w.create("one", nil)
	if sent, after := w.pass(); !slices.Equal(sent, []string{"front-shards-0"}) || after <= 0 || after > time.Second {
		t.Errorf("sent to %v, and the next pass is after %s", sent, after)
	}
	w.want("one", v1alpha1.ReasonPurging, "1/4", "front-shards-1: its instance manager does not answer on port 9113")
	w.silent = map[string]bool{"front-edge-0": true}
	w.restartOperator()
	w.pass()
	w.want("one", v1alpha1.ReasonPurging, "3/4", "front-edge-0: its instance manager does not answer")
	w.silent = nil
	w.pass()
	w.want("one", v1alpha1.ReasonPurged, "4/4", "")
}

// TestMissingShard: the volume of a shard that does not exist at the moment may have the old content.
func TestMissingShard(t *testing.T) {
	w := newWorld(t)
	dir := w.removePod("front-shards-1")
	w.create("one", nil)
	w.pass()
	w.want("one", v1alpha1.ReasonPurging, "1/4", "front-shards-1: the pod does not exist")
	w.startPod("front-shards-1", dir)
	w.pass()
	w.want("one", v1alpha1.ReasonPurged, "4/4", "")
	w.removePod("front-edge-0")
	w.create("two", nil)
	w.pass()
	w.want("two", v1alpha1.ReasonPurged, "3/3", "")
}

// TestLeavingShard: a shard that is to be removed has objects until then, and counts as well if its pod is away.
func TestLeavingShard(t *testing.T) {
	w := newWorld(t)
	set := &appsv1.StatefulSet{}
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "front-shards"}, set); err != nil {
		t.Fatal(err)
	}
	set.Spec.Replicas = new(int32(3))
	if err := w.kube.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	w.create("one", nil)
	w.pass()
	w.want("one", v1alpha1.ReasonPurging, "2/5", "front-shards-2: the pod does not exist")
	w.startPod("front-shards-2", t.TempDir())
	w.pass()
	w.want("one", v1alpha1.ReasonPurged, "5/5", "")
}

func ofStatefulSet(name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: uid, Controller: new(true)}}
}

// addLiar creates a pod with the labels of the cache that does not belong to it.
func (w *world) addLiar(name, tier string, owners []metav1.OwnerReference) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(name), OwnerReferences: owners,
		Labels: map[string]string{v1alpha1.LabelNginxCache: "front", v1alpha1.LabelTier: tier},
	}}
	pod.Status.PodIP = name
	if err := w.kube.Create(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}

// TestPodsOfOthers: no purge is sent to a pod that merely has the labels of the cache, or an owner of a name.
func TestPodsOfOthers(t *testing.T) {
	w := newWorld(t)
	// The world has no instance for them: a request would end the test.
	w.addLiar("front-shards-7", v1alpha1.TierShards, ofStatefulSet("liar", "front-shards"))
	w.addLiar("of-another", v1alpha1.TierEdge, ofStatefulSet("other", "other"))
	w.addLiar("of-nobody", v1alpha1.TierEdge, nil)
	w.addLiar("front-edge-2", v1alpha1.TierEdge, nil)
	w.addLiar("front-shards-63", v1alpha1.TierShards, nil)
	w.addLiar("of-a-replicaset", v1alpha1.TierEdge, []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "front-edge", UID: "front-edge", Controller: new(true)}})
	w.create("one", nil)
	w.pass()
	w.want("one", v1alpha1.ReasonPurged, "4/4", "all 4 have purged")
}

// TestAdoptedPods: a purge waits for pods whose StatefulSet is created again: they may have old content, and serve soon.
func TestAdoptedPods(t *testing.T) {
	for name, tt := range map[string]struct {
		owners []metav1.OwnerReference
		pod    string
		// without is set if the StatefulSet does not exist.
		without bool
		// before and after are the progress with the pod and without it.
		before, after string
	}{
		"without a controller":                         {nil, "front-edge-1", false, "3/4", "3/3"},
		"without a controller and without StatefulSet": {nil, "front-edge-2", true, "2/3", "2/2"},
		"of a StatefulSet of the name":                 {ofStatefulSet("front-edge", "another"), "front-edge-2", false, "4/5", "4/4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, edge := range []string{"front-edge-0", "front-edge-1"} {
				if tt.without || edge == tt.pod {
					w.removePod(edge)
				}
			}
			if tt.without {
				if err := w.kube.Delete(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front-edge"}}); err != nil {
					t.Fatal(err)
				}
			}
			w.addLiar(tt.pod, v1alpha1.TierEdge, tt.owners)
			w.create("one", nil)
			w.pass()
			w.want("one", v1alpha1.ReasonPurging, tt.before, tt.pod+": the pod does not belong to StatefulSet front-edge of the cache")
			if err := w.kube.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: tt.pod}}); err != nil {
				t.Fatal(err)
			}
			w.pass()
			w.want("one", v1alpha1.ReasonPurged, tt.after, "")
		})
	}
}

// TestScaledByOthers: whoever scales the StatefulSet to billions does not use up the memory of the operator.
func TestScaledByOthers(t *testing.T) {
	w := newWorld(t)
	set := &appsv1.StatefulSet{}
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "front-shards"}, set); err != nil {
		t.Fatal(err)
	}
	set.Spec.Replicas = new(int32(math.MaxInt32))
	if err := w.kube.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	w.create("one", nil)
	w.pass()
	w.want("one", v1alpha1.ReasonPurging, "2/66", "the pod does not exist")
}

// full reads StatefulSets from caches that have no room for their content.
type full struct{ client.Client }

// Get implements client.Reader.
func (f full) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := f.Client.Get(ctx, key, object, options...); err != nil {
		return err
	}
	if set, ok := object.(*appsv1.StatefulSet); ok {
		whole := func(obj any) (any, error) { return obj, nil }
		bare, err := cachedcontent.New(nil).Within(cachedcontent.Allowance{Kind: "StatefulSet", Budget: budget.New(0, 0)}, whole)(set.DeepCopy())
		*set = *bare.(*appsv1.StatefulSet)
		return err
	}
	return nil
}

// TestFullCaches: the number of shards is known although the caches have no room for the StatefulSet.
func TestFullCaches(t *testing.T) {
	w := newWorld(t)
	set := &appsv1.StatefulSet{}
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "front-shards"}, set); err != nil {
		t.Fatal(err)
	}
	set.Spec.Replicas = new(int32(4))
	if err := w.kube.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	w.operator.Client = full{w.kube}
	w.create("one", nil)
	w.pass()
	w.want("one", v1alpha1.ReasonPurging, "2/6", "the pod does not exist")
}

// lagging reads as an informer that does not know the address of a pod yet.
type lagging struct {
	client.Client
	pod string
}

// List implements client.Reader.
func (l *lagging) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := l.Client.List(ctx, list, options...)
	if pods, ok := list.(*corev1.PodList); ok {
		for i := range pods.Items {
			if pods.Items[i].Name == l.pod {
				pods.Items[i].Status.PodIP = ""
			}
		}
	}
	return err
}

// TestLaggingInformer: a pod that serves already is not taken for one that does not run yet.
func TestLaggingInformer(t *testing.T) {
	w := newWorld(t)
	w.operator.Client = &lagging{w.kube, "front-edge-1"}
	w.create("one", nil)
	w.pass()
	w.want("one", v1alpha1.ReasonPurging, "3/4", "front-edge-1: the pod has just been created")
	w.operator.Client = w.kube
	w.pass()
	w.want("one", v1alpha1.ReasonPurged, "4/4", "")
}

// TestRestartedPod: a pod whose process is another one gets the purge in the same pass.
func TestRestartedPod(t *testing.T) {
	w := newWorld(t)
	w.create("one", nil)
	w.pass()
	w.startPod("front-shards-0", w.instances["front-shards-0"].dir)
	w.create("two", nil)
	w.pass()
	w.want("two", v1alpha1.ReasonPurged, "4/4", "")
}

// TestLostConfigMap: without what was remembered, pods that missed a purge drop everything, and the others nothing.
func TestLostConfigMap(t *testing.T) {
	for how, lose := range map[string]func(*corev1.ConfigMap, client.Client) error{
		"deleted": func(cm *corev1.ConfigMap, c client.Client) error { return c.Delete(t.Context(), cm) },
		"damaged": func(cm *corev1.ConfigMap, c client.Client) error {
			cm.Data = map[string]string{"shards.json": "{"}
			return c.Update(t.Context(), cm)
		},
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			w.create("one", nil)
			w.pass()
			w.startPod("front-shards-1", t.TempDir())
			w.operator.answers.forget(types.NamespacedName{Namespace: "shop", Name: "front"})
			cm := &corev1.ConfigMap{}
			if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "front-purges"}, cm); err != nil {
				t.Fatal(err)
			}
			if err := lose(cm, w.kube); err != nil {
				t.Fatal(err)
			}
			w.create("two", nil)
			w.pass()
			w.want("two", v1alpha1.ReasonPurged, "4/4", "")
			for name, want := range map[string]string{"front-shards-0": "0", "front-shards-1": "1000000001000"} {
				if got := generation(t, w.instances[name].dir); got != want {
					t.Errorf("everything in %s has the generation %s, want %s", name, got, want)
				}
			}
			if err := w.kube.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
				t.Fatal(err)
			}
			want, err := cachepurge.Keys(nil).With(nil).Text()
			if got := cm.Annotations[cachepurge.AnnotationKeys]; err != nil || got != want {
				t.Errorf("the keys of the cache are %q, want %q: the operator adds them after its next start (%v)", got, want, err)
			}
		})
	}
}

// TestRejectedPurge: what cannot be read is rejected, and deleted when its time is over.
func TestRejectedPurge(t *testing.T) {
	w := newWorld(t)
	w.create("bad", func(s *v1alpha1.NginxCachePurgeSpec) {
		s.URLs, s.TTLSecondsAfterFinished = []string{"https://a/%zz"}, new(int32(60))
	})
	w.create("good", nil)
	w.pass()
	w.want("bad", v1alpha1.ReasonRejected, "", "spec.urls[0]")
	w.want("good", v1alpha1.ReasonPurged, "4/4", "")
	if _, after := w.pass(); after != 59*time.Second {
		t.Errorf("the next pass is after %s", after)
	}
	w.clock.Step(time.Minute)
	w.pass()
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "bad"}, &v1alpha1.NginxCachePurge{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("it is not deleted: %v", err)
	}
}

// TestNoCache: a purge waits for its cache.
func TestNoCache(t *testing.T) {
	w := newWorld(t)
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}}
	if err := w.kube.Delete(t.Context(), cache); err != nil {
		t.Fatal(err)
	}
	w.create("one", nil)
	w.pass()
	w.want("one", v1alpha1.ReasonCacheNotFound, "", "NginxCache front does not exist")
}

// TestForeignConfigMap: a ConfigMap of someone else is left alone.
func TestForeignConfigMap(t *testing.T) {
	w := newWorld(t)
	if err := w.kube.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front-purges"}}); err != nil {
		t.Fatal(err)
	}
	w.create("one", nil)
	_, err := w.operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "front"}})
	if err == nil || !strings.Contains(err.Error(), "front-purges exists and does not belong to") {
		t.Errorf("%v", err)
	}
}

// generation returns the generation of everything in the cache of a pod.
func generation(t *testing.T, dir string) string {
	t.Helper()
	target, err := os.Readlink(filepath.Join(dir, "generation"))
	if err != nil {
		t.Fatal(err)
	}
	number, _, _ := strings.Cut(filepath.Base(target), ".")
	return number
}
