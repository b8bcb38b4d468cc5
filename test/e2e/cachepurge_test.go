//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// purge creates a purge of a cache.
func purge(t *testing.T, cache *v1alpha1.NginxCache, spec v1alpha1.NginxCachePurgeSpec) *v1alpha1.NginxCachePurge {
	t.Helper()
	spec.CacheRef.Name = cache.Name
	p := &v1alpha1.NginxCachePurge{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, GenerateName: "purge-"}, Spec: spec}
	must(t, kube.Create(t.Context(), p))
	return p
}

// waitPurge waits for the condition of a purge.
func waitPurge(t *testing.T, p *v1alpha1.NginxCachePurge, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("%s is %s", p.Name, reason), func() error {
		if err := get(t, p); err != nil {
			return err
		}
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionComplete)
		if c == nil {
			return errors.New("the operator has not reconciled yet")
		}
		if found = *c; c.Reason != reason {
			return fmt.Errorf("it is %s: %s", c.Reason, c.Message)
		}
		return nil
	})
	return found
}

// purgedPaths returns the paths whose answers have changed.
func purgedPaths(before, after map[string]string) map[string]bool {
	changed := map[string]bool{}
	for path := range before {
		if before[path] != after[path] {
			changed[path] = true
		}
	}
	return changed
}

// TestCachePurge: what is purged is gone from every pod when the purge is complete, also from a shard that was away, and
// nothing else is gone.
func TestCachePurge(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 2)
	before := answers(t, cache, "/objects")
	// The host is the one that the API server's proxy sends.
	host, _, _ := strings.Cut(before["/objects/1"], " ")
	url := func(path string) string { return "https://" + host + path }

	one := purge(t, cache, v1alpha1.NginxCachePurgeSpec{URLs: []string{url("/objects/7"), url("/objects/none")}})
	if c := waitPurge(t, one, v1alpha1.ReasonPurged); one.Status.Progress != "4/4" || len(one.Status.Pods) != 4 || one.Status.CompletionTime == nil {
		t.Errorf("%+v: %+v", c, one.Status)
	}
	after := answers(t, cache, "/objects")
	if changed := purgedPaths(before, after); len(changed) != 1 || !changed["/objects/7"] {
		t.Errorf("purged: %v", changed)
	}

	// A shard is away: the purge waits for it, and it has purged before it serves again.
	shard := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: "front-shards-1"}}
	must(t, get(t, shard))
	must(t, kube.Delete(t.Context(), shard))
	prefix := purge(t, cache, v1alpha1.NginxCachePurgeSpec{Prefixes: []string{url("/objects/")}})
	waitPurge(t, prefix, v1alpha1.ReasonPurged)
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	again := answers(t, cache, "/objects")
	if changed := purgedPaths(after, again); len(changed) != len(before) {
		t.Errorf("of %d objects, %d were purged", len(before), len(changed))
	}

	rejected := purge(t, cache, v1alpha1.NginxCachePurgeSpec{URLs: []string{"https://shop.example.com/%zz"}, TTLSecondsAfterFinished: new(int32(5))})
	if c := waitPurge(t, rejected, v1alpha1.ReasonRejected); !strings.Contains(c.Message, "spec.urls[0]") {
		t.Error(c.Message)
	}
	eventually(t, "a finished purge is deleted", func() error { return gone(get(t, rejected)) })

	all := purge(t, cache, v1alpha1.NginxCachePurgeSpec{All: new(true)})
	waitPurge(t, all, v1alpha1.ReasonPurged)
	if changed := purgedPaths(again, answers(t, cache, "/objects")); len(changed) != len(before) {
		t.Errorf("of %d objects, %d were purged", len(before), len(changed))
	}
	update(t, cache, func() {
		cache.Spec.PodTemplate = &v1alpha2.PodTemplate{Annotations: map[string]string{"example.com/restart": "1"}}
	})
	waitCache(t, cache, v1alpha1.ConditionUpToDate, metav1.ConditionTrue)
}

// TestCachePurgeTags: what has a tag is gone from every pod, also from a shard that was away, and nothing else is gone. What
// is made stale is the answer until it has been requested again.
func TestCachePurgeTags(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 2)
	before := answers(t, cache, "/objects")
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{Tags: []string{"last-3", "none"}}), v1alpha1.ReasonPurged)
	after := answers(t, cache, "/objects")
	want := map[string]bool{}
	for path := range before {
		if strings.HasSuffix(path, "3") {
			want[path] = true
		}
	}
	if diff := cmp.Diff(want, purgedPaths(before, after)); diff != "" {
		t.Errorf("purged: -want +got:\n%s", diff)
	}

	soft := purge(t, cache, v1alpha1.NginxCachePurgeSpec{All: new(true), Soft: new(true)})
	if c := waitPurge(t, soft, v1alpha1.ReasonPurged); !strings.Contains(c.Message, "stale") {
		t.Error(c.Message)
	}
	same(t, "after they were made stale", after, answers(t, cache, "/objects"))
	var fresh map[string]string
	eventually(t, "all are requested again", func() error {
		fresh = answers(t, cache, "/objects")
		if changed := purgedPaths(after, fresh); len(changed) != len(after) {
			return fmt.Errorf("of %d, only %d were", len(after), len(changed))
		}
		return nil
	})

	shard := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: "front-shards-1"}}
	must(t, get(t, shard))
	must(t, kube.Delete(t.Context(), shard))
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{Tags: []string{"last-3"}}), v1alpha1.ReasonPurged)
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	for path := range purgedPaths(fresh, answers(t, cache, "/objects")) {
		delete(want, path)
	}
	if len(want) > 0 {
		t.Errorf("after a shard was away, these were not purged: %v", want)
	}
}

// TestCachePurgeOddURLs: what cannot be the name of a folder is purged as well.
func TestCachePurgeOddURLs(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 1)
	paths := []string{"/next?to=/x/../y", "/image?u=/" + strings.Repeat("x", 300), "/a?b=/.object", "/.below/a", "/plain"}
	before := map[string]string{}
	for _, path := range paths {
		before[path] = fetchPath(t, cache, path)
		if again := fetchPath(t, cache, path); again != before[path] {
			t.Fatalf("%s is not stored", path)
		}
	}
	host, _, _ := strings.Cut(before["/plain"], " ")
	for _, path := range paths {
		waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{URLs: []string{"http://" + host + path}}), v1alpha1.ReasonPurged)
		if again := fetchPath(t, cache, path); again == before[path] {
			t.Errorf("%s is there after it was purged", path)
		}
	}
}

// fetchPath returns the answer of the first edge for a path with a query string.
func fetchPath(t *testing.T, cache *v1alpha1.NginxCache, pathAndQuery string) string {
	t.Helper()
	body, err := clientset.CoreV1().RESTClient().Get().
		AbsPath("/api/v1/namespaces/" + cache.Namespace + "/pods/" + v1alpha1.EdgeName(cache.Name) + "-0:80/proxy").
		RequestURI("/api/v1/namespaces/" + cache.Namespace + "/pods/" + v1alpha1.EdgeName(cache.Name) + "-0:80/proxy" + pathAndQuery).
		DoRaw(t.Context())
	must(t, err)
	return string(body)
}

// TestCachePurgeAfterRules: what was stored with a rule that is gone does not come back with the rule after a purge.
func TestCachePurgeAfterRules(t *testing.T) {
	t.Parallel()
	cache := newCache(t, 1)
	const path = "/static/q?v=1&x=2"
	before := fetchPath(t, cache, path)
	host, _, _ := strings.Cut(before, " ")
	rules := cache.Spec.Rules
	update(t, cache, func() { cache.Spec.Rules = nil })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{URLs: []string{"http://" + host + path}}), v1alpha1.ReasonPurged)
	update(t, cache, func() { cache.Spec.Rules = rules })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	if again := fetchPath(t, cache, path); again == before {
		t.Error("the object is there after it was purged")
	}
}

// TestCachePurgeRetained: a volume that was away when its objects were purged does not bring them back, even if the cache
// was created again meanwhile.
func TestCachePurgeRetained(t *testing.T) {
	t.Parallel()
	needStorageClass(t)
	namespace := newNamespace(t)
	storage := v1alpha1.Storage{
		Size: resource.MustParse("32Mi"), StorageClassName: &storageClass, WhenScaled: new(v1alpha1.VolumeRetain), WhenDeleted: new(v1alpha1.VolumeRetain),
	}
	cache := newCacheOn(t, namespace, 2, storage)
	before := answers(t, cache, "/objects")
	update(t, cache, func() { cache.Spec.Shards.Replicas, cache.Spec.Shards.HandOver = new(int32(1)), "0" })
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	eventually(t, "the second shard is gone", func() error {
		return gone(get(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front-shards-1"}}))
	})
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{All: new(true)}), v1alpha1.ReasonPurged)
	must(t, kube.Delete(t.Context(), cache))
	for _, name := range []string{"front-shards-0", "front-edge-0", "front-edge-1"} {
		eventually(t, name+" is gone", func() error {
			return gone(get(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}))
		})
	}
	again := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cache.Name}, Spec: cache.Spec}
	again.Spec.Shards.Replicas = new(int32(2))
	must(t, kube.Create(t.Context(), again))
	waitCache(t, again, v1alpha1.ConditionReady, metav1.ConditionTrue)
	if changed := purgedPaths(before, answers(t, again, "/objects")); len(changed) != len(before) {
		t.Errorf("of %d objects, only %d are gone", len(before), len(changed))
	}
}

// TestCachePurgeWithoutCache: a purge waits until its cache exists, and says so.
func TestCachePurgeWithoutCache(t *testing.T) {
	t.Parallel()
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "none"}}
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{All: new(true)}), v1alpha1.ReasonCacheNotFound)
}
