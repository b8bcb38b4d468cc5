//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// originConfig answers each request with another text, so that an answer shows whether it was stored. Its tag is the last
// digit of the path.
const originConfig = `map $uri $tag { "~(?<digit>\d)$" last-$digit; }
server { listen 8080; add_header Cache-Tag $tag; location / { return 200 "$host $request_uri $request_id\n"; } }
`

// newCache creates a cache in front of an application, with volumes for its shards, and waits until it is ready.
func newCache(t *testing.T, shards int32) *v1alpha1.NginxCache {
	t.Helper()
	namespace := newNamespace(t)
	for n := range shards {
		// A StatefulSet takes over the claims that exist.
		newClaim(t, namespace, fmt.Sprintf("cache-objects-front-shards-%d", n))
	}
	return newCacheOn(t, namespace, shards, v1alpha1.Storage{Size: resource.MustParse("1Gi")})
}

// newCacheOn does the same with a storage for each shard.
func newCacheOn(t *testing.T, namespace string, shards int32, storage v1alpha1.Storage) *v1alpha1.NginxCache {
	t.Helper()
	spec := v1alpha2.NginxOperatorSpec{Replicas: new(int32(2)), Ports: ports(httpPort), Config: filesConfig(map[string]string{"site.conf": originConfig})}
	origin := createReady(t, namespace, "origin", spec)
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"}}
	cache.Spec.Image = new(newestImage())
	cache.Spec.Origins = []v1alpha1.Origin{{Name: "app", NginxOperator: &v1alpha1.NginxOperatorReference{Name: origin.Name}}}
	cache.Spec.Shards = v1alpha1.Shards{Replicas: &shards, Storage: storage}
	cache.Spec.Rules = []v1alpha1.Rule{
		{Match: v1alpha1.Match{PathPrefix: new("/cart")}, Bypass: new(true)},
		{Match: v1alpha1.Match{PathPrefix: new("/static/")}, Key: &v1alpha1.Key{QueryParameters: v1alpha1.QueryParameters{Include: []string{"v"}}}},
	}
	must(t, kube.Create(t.Context(), cache))
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	return cache
}

// waitCache waits for a condition of the present spec.
func waitCache(t *testing.T, cache *v1alpha1.NginxCache, name string, status metav1.ConditionStatus) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("%s is %s", name, status), func() error {
		if err := get(t, cache); err != nil {
			return err
		}
		c := meta.FindStatusCondition(cache.Status.Conditions, name)
		if c == nil || c.ObservedGeneration != cache.Generation {
			return errors.New("the operator has not reconciled yet")
		}
		if found = *c; c.Status != status {
			return fmt.Errorf("it is %s (%s): %s", c.Status, c.Reason, c.Message)
		}
		return nil
	})
	return found
}

// fetchObject returns the answer of a cache.
func fetchObject(ctx context.Context, cache *v1alpha1.NginxCache, path string) (string, error) {
	body, err := request(cache.Namespace, v1alpha1.EdgeName(cache.Name), "http", path).DoRaw(ctx)
	return string(body), err
}

// answers returns the answers for many objects, by their paths.
func answers(t *testing.T, cache *v1alpha1.NginxCache, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for n := range 40 {
		path := fmt.Sprintf("%s/%d", folder, n)
		body, err := fetchObject(t.Context(), cache, path)
		must(t, err)
		all[path] = body
	}
	return all
}

// same fails the test if an object was requested from its origin again.
func same(t *testing.T, when string, before, after map[string]string) {
	t.Helper()
	again := 0
	for path := range before {
		if before[path] != after[path] {
			again++
		}
	}
	if again > 0 {
		t.Errorf("%s: %d of %d objects were requested from their origin again", when, again, len(before))
	}
}

// TestCache: a cache stores what it should, and keeps it when every pod is replaced, without failing a request.
func TestCache(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 2)
	before := answers(t, cache, "/objects")
	same(t, "requested again", before, answers(t, cache, "/objects"))
	for path, stored := range map[string]bool{"/cart": false, "/objects/1": true} {
		first, err := fetchObject(t.Context(), cache, path)
		must(t, err)
		second, err := fetchObject(t.Context(), cache, path)
		must(t, err)
		if (first == second) != stored {
			t.Errorf("%s: %q, then %q", path, first, second)
		}
	}

	traffic := startCacheTraffic(t, cache)
	update(t, cache, func() {
		cache.Spec.PodTemplate = &v1alpha2.PodTemplate{Annotations: map[string]string{"example.com/restart": "1"}}
	})
	wantShardsFirst(t, cache)
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	traffic.stop(t)
	waitReached(t, cache)
	// An edge keeps its objects in memory, so those that it has now came from the volumes of the shards.
	same(t, "after every pod was replaced", before, answers(t, cache, "/objects"))
	for _, tier := range []*v1alpha1.TierStatus{cache.Status.Edge, cache.Status.Shards} {
		if len(tier.Pods) != 2 || !tier.Pods[0].Ready || tier.Revision != 2 {
			t.Errorf("the status of a tier is %+v", tier)
		}
	}

	update(t, cache, func() { cache.Spec.Shards.Replicas, cache.Spec.Shards.HandOver = new(int32(1)), "0" })
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: "front-shards-1"}}
	eventually(t, "the Service of the removed shard is gone", func() error { return gone(get(t, service)) })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// TestCacheHandOver: with another number of shards, no object is requested from its origin again. Shards that are to be
// removed stay until then.
func TestCacheHandOver(t *testing.T) {
	t.Parallel()
	needStorageClass(t)
	cache := newCacheOn(t, newNamespace(t), 3, v1alpha1.Storage{Size: resource.MustParse("32Mi"), StorageClassName: &storageClass})
	before := answers(t, cache, "/objects")
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: v1alpha1.ShardsName(cache.Name)}}
	traffic := startCacheTraffic(t, cache)
	for _, shards := range []int32{2, 3} {
		update(t, cache, func() { cache.Spec.Shards.Replicas, cache.Spec.Shards.HandOver = &shards, "30m" })
		waitHandOver(t, cache, fmt.Sprintf("to %d shards until", shards))
		must(t, get(t, set))
		if n := *set.Spec.Replicas; n != 3 {
			t.Errorf("%d shards run while objects are handed over to %d", n, shards)
		}
		emptyEdges(t, cache)
		same(t, fmt.Sprintf("while objects are handed over to %d shards", shards), before, answers(t, cache, "/objects"))

		update(t, cache, func() { cache.Spec.Shards.HandOver = "1s" })
		waitHandOver(t, cache, "")
		eventually(t, fmt.Sprintf("%d shards are left", shards), func() error {
			if pods := shardPods(t, cache); len(pods) != int(shards) {
				return fmt.Errorf("there are %d", len(pods))
			}
			return nil
		})
		waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
		emptyEdges(t, cache)
		same(t, fmt.Sprintf("after objects were handed over to %d shards", shards), before, answers(t, cache, "/objects"))
	}
	traffic.stop(t)
	must(t, get(t, set))
	if text, ok := set.Annotations[handover.Annotation]; ok {
		t.Errorf("after the hand-over, the annotation is %s", text)
	}
}

// TestCacheShardReplaced: while a shard is away to be replaced, no object is requested from its origin again.
func TestCacheShardReplaced(t *testing.T) {
	t.Parallel()
	needStorageClass(t)
	cache := newCacheOn(t, newNamespace(t), 3, v1alpha1.Storage{Size: resource.MustParse("32Mi"), StorageClassName: &storageClass})
	before := answers(t, cache, "/objects")
	emptyEdges(t, cache)
	for shard := range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: naming.Pod(v1alpha1.ShardsName(cache.Name), shard)}}
		must(t, get(t, pod))
		uid := pod.UID
		must(t, kube.Delete(t.Context(), pod))
		eventually(t, pod.Name+" is gone", func() error {
			if err := get(t, pod); err == nil && pod.UID == uid {
				return errors.New("it is still there")
			} else {
				return client.IgnoreNotFound(err)
			}
		})
		same(t, "while "+pod.Name+" is away", before, answers(t, cache, "/objects"))
		// The status may be that of before.
		waitReplaced(t, pod, uid)
		waitReached(t, cache)
	}
}

// waitReached waits until each edge requests from each shard: it learns a moment late where a pod is that is ready again.
func waitReached(t *testing.T, cache *v1alpha1.NginxCache) {
	t.Helper()
	for edge := range tier.Edges(cache) {
		requested := map[string]bool{}
		eventually(t, fmt.Sprintf("edge %d requests from each shard", edge), func() error {
			for range 20 {
				requested[requestedShard(t, cache, edge, fmt.Sprintf("/reach/%d", rand.Int()))] = true
			}
			for shard := range tier.Shards(cache) {
				if name := naming.Pod(v1alpha1.ShardsName(cache.Name), shard); !requested[name] {
					return fmt.Errorf("it requests from %v", slices.Sorted(maps.Keys(requested)))
				}
			}
			return nil
		})
	}
}

// requestedShard returns the name of the shard from which an edge requested a new object.
func requestedShard(t *testing.T, cache *v1alpha1.NginxCache, edge int, path string) string {
	t.Helper()
	api := clientset.CoreV1().RESTClient()
	url := api.Get().Namespace(cache.Namespace).Resource("pods").
		Name(fmt.Sprintf("%s:%d", naming.Pod(v1alpha1.EdgeName(cache.Name), edge), cacheconf.Port)).SubResource("proxy").Suffix(path).URL()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url.String(), nil)
	must(t, err)
	response, err := api.(*rest.RESTClient).Client.Do(request)
	must(t, err)
	defer func() { must(t, response.Body.Close()) }()
	shard, _, _ := strings.Cut(response.Header.Get("Cache-Status"), ";")
	return shard
}

// waitHandOver waits until the cache is ready and says that objects are handed over, or that none are if text is empty.
func waitHandOver(t *testing.T, cache *v1alpha1.NginxCache, text string) {
	t.Helper()
	eventually(t, "the hand-over: "+text, func() error {
		c := waitCache(t, cache, v1alpha1.ConditionUpToDate, metav1.ConditionTrue)
		if (c.Reason == v1alpha1.ReasonHandingOver) != (text != "") || !strings.Contains(c.Message, text) {
			return fmt.Errorf("UpToDate is %s: %s", c.Reason, c.Message)
		}
		return nil
	})
	if c := waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue); c.Reason != v1alpha2.ReasonReady {
		t.Errorf("Ready is %s", c.Reason)
	}
}

// emptyEdges replaces the edges, one at a time: what they answer afterwards is from a shard.
func emptyEdges(t *testing.T, cache *v1alpha1.NginxCache) {
	t.Helper()
	for n := range tier.Edges(cache) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: naming.Pod(v1alpha1.EdgeName(cache.Name), n)}}
		must(t, get(t, pod))
		before := pod.UID
		must(t, kube.Delete(t.Context(), pod))
		eventually(t, pod.Name+" is replaced", func() error {
			now := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
			if err := get(t, now); err != nil {
				return err
			}
			if now.UID == before || !observe.Ready(now) {
				return errors.New("it is not ready")
			}
			return nil
		})
	}
}

// TestCacheNameTaken: a StatefulSet of someone else is left alone, and the cache takes the name as soon as it is free.
func TestCacheNameTaken(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	labels := map[string]string{"app": "theirs"}
	theirs := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front-shards"}}
	theirs.Spec.Replicas, theirs.Spec.Selector = new(int32(0)), &metav1.LabelSelector{MatchLabels: labels}
	theirs.Spec.Template.Labels = labels
	theirs.Spec.Template.Spec.Containers = []corev1.Container{{Name: "theirs", Image: newestImage()}}
	must(t, kube.Create(t.Context(), theirs))
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"}}
	cache.Spec.Origins = []v1alpha1.Origin{{Name: "app", URL: new("http://app.example.com")}}
	cache.Spec.Shards = v1alpha1.Shards{Replicas: new(int32(1)), Storage: v1alpha1.Storage{Size: resource.MustParse("1Gi")}}
	must(t, kube.Create(t.Context(), cache))
	if c := waitCache(t, cache, v1alpha1.ConditionAccepted, metav1.ConditionFalse); c.Reason != v1alpha2.ReasonNameConflict {
		t.Errorf("Accepted is %s: %s", c.Reason, c.Message)
	}
	must(t, kube.Delete(t.Context(), theirs))
	waitCache(t, cache, v1alpha1.ConditionAccepted, metav1.ConditionTrue)
}

// TestCacheBadImage: nginx before 1.27.3 cannot follow the addresses of shards. The message says so, and the pods stay.
func TestCacheBadImage(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 1)
	traffic := startCacheTraffic(t, cache)
	update(t, cache, func() { cache.Spec.Image = new(oldestImage()) })
	waitCache(t, cache, v1alpha1.ConditionUpToDate, metav1.ConditionFalse)
	eventually(t, "the rollout is rolled back", func() error {
		c := waitCache(t, cache, v1alpha1.ConditionUpToDate, metav1.ConditionFalse)
		if c.Reason != v1alpha2.ReasonRolledBack {
			return fmt.Errorf("it is %s: %s", c.Reason, c.Message)
		}
		return nil
	})
	traffic.stop(t)
	update(t, cache, func() { cache.Spec.Image = new(newestImage()) })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// wantShardsFirst waits until a rollout of both tiers is complete, and fails the test if an edge gets the new template
// before the shards have it.
func wantShardsFirst(t *testing.T, cache *v1alpha1.NginxCache) {
	t.Helper()
	edge, shards := &appsv1.StatefulSet{}, &appsv1.StatefulSet{}
	edge.Namespace, edge.Name = cache.Namespace, v1alpha1.EdgeName(cache.Name)
	shards.Namespace, shards.Name = cache.Namespace, v1alpha1.ShardsName(cache.Name)
	must(t, get(t, edge))
	before := edge.Generation
	eventually(t, "both tiers are up to date", func() error {
		// The shards last: what the edges may do by them is true afterwards.
		for _, set := range []*appsv1.StatefulSet{edge, shards} {
			if err := get(t, set); err != nil {
				return err
			}
		}
		if s := shards.Status; edge.Generation != before && (s.UpdatedReplicas < *shards.Spec.Replicas || s.ReadyReplicas < *shards.Spec.Replicas) {
			t.Fatalf("the edges have the new template, and of the shards only %d", s.UpdatedReplicas)
		}
		if err := get(t, cache); err != nil {
			return err
		}
		c := meta.FindStatusCondition(cache.Status.Conditions, v1alpha1.ConditionUpToDate)
		if c.Status != metav1.ConditionTrue || c.ObservedGeneration != cache.Generation {
			return fmt.Errorf("it is %s: %s", c.Status, c.Message)
		}
		return nil
	})
	if edge.Generation == before {
		t.Error("the edges have the old template")
	}
}

// startCacheTraffic sends requests for other objects to a cache until stop. While a shard is away, others answer for it,
// so these objects may be requested from their origin again.
func startCacheTraffic(t *testing.T, cache *v1alpha1.NginxCache) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &traffic{cancel: cancel, done: make(chan struct{})}
	cache = cache.DeepCopy()
	go func() {
		defer close(c.done)
		for n := 0; ctx.Err() == nil; n++ {
			c.requests++
			if _, err := fetchObject(context.WithoutCancel(ctx), cache, fmt.Sprintf("/traffic/%d", n%40)); err != nil {
				c.failures = append(c.failures, fmt.Sprintf("%s: %v", time.Now().Format(time.TimeOnly), err))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return c
}

// TestCacheVolumesGrow: the volumes of shards grow while they serve. Later shards get the new size, and what cannot be is
// refused, with everything else carried out.
func TestCacheVolumesGrow(t *testing.T) {
	t.Parallel()
	needStorageClass(t)
	cache := newCacheOn(t, newNamespace(t), 2, v1alpha1.Storage{Size: resource.MustParse("32Mi"), StorageClassName: &storageClass})
	before := answers(t, cache, "/objects")
	uids := shardPods(t, cache)
	traffic := startCacheTraffic(t, cache)
	update(t, cache, func() { cache.Spec.Shards.Storage.Size = resource.MustParse("64Mi") })
	wantVolumes(t, cache, 2, "64Mi")
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: v1alpha1.ShardsName(cache.Name)}}
	eventually(t, "the template has the size", func() error {
		if err := get(t, set); err != nil {
			return err
		}
		if size := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "64Mi" {
			return fmt.Errorf("it is %s", size.String())
		}
		return nil
	})
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	if now := shardPods(t, cache); !maps.Equal(uids, now) {
		t.Errorf("pods were replaced: %v, then %v", uids, now)
	}
	traffic.stop(t)
	same(t, "after the volumes have grown", before, answers(t, cache, "/objects"))

	update(t, cache, func() {
		cache.Spec.Shards.Storage.Size = resource.MustParse("16Mi")
		cache.Spec.Shards.Replicas = new(int32(3))
	})
	if c := waitCache(t, cache, v1alpha1.ConditionAccepted, metav1.ConditionFalse); c.Reason != v1alpha1.ReasonVolumesNotChanged {
		t.Errorf("Accepted is %s: %s", c.Reason, c.Message)
	}
	update(t, cache, func() { cache.Spec.Shards.Storage.Size = resource.MustParse("64Mi") })
	wantVolumes(t, cache, 3, "64Mi")
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// shardPods returns the UIDs of the shards' pods, by their names.
func shardPods(t *testing.T, cache *v1alpha1.NginxCache) map[string]string {
	t.Helper()
	pods := &corev1.PodList{}
	must(t, kube.List(t.Context(), pods, client.InNamespace(cache.Namespace), client.MatchingLabels{v1alpha1.LabelTier: v1alpha1.TierShards}))
	uids := map[string]string{}
	for i := range pods.Items {
		uids[pods.Items[i].Name] = string(pods.Items[i].UID)
	}
	return uids
}

// wantVolumes waits until the status shows volumes of a size for a number of shards.
func wantVolumes(t *testing.T, cache *v1alpha1.NginxCache, shards int, size string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d shards have volumes of %s", shards, size), func() error {
		if err := get(t, cache); err != nil {
			return err
		}
		pods := cache.Status.Shards.Pods
		if len(pods) != shards {
			return fmt.Errorf("there are %d pods", len(pods))
		}
		for _, pod := range pods {
			if pod.Storage == nil || pod.Storage.String() != size {
				return fmt.Errorf("%s has %v: %v", pod.Name, pod.Storage, cache.Status.Conditions)
			}
		}
		return nil
	})
}
