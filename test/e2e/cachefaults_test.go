//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/nginx/naming"
)

// originAnswer matches what the origin of originConfig answers for a path.
func originAnswer(path string) *regexp.Regexp {
	return regexp.MustCompile(`^\S+ ` + regexp.QuoteMeta(path) + ` [0-9a-f]{32}\n$`)
}

// startCheckedTraffic sends requests for old and new objects to a cache until stop, checks each body, and repeats none.
func startCheckedTraffic(t *testing.T, cache *v1alpha1.NginxCache) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &traffic{cancel: cancel, done: make(chan struct{})}
	namespace := cache.Namespace
	var mu sync.Mutex
	var group sync.WaitGroup
	for worker := range 3 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				path := fmt.Sprintf("/traffic/%d", n%40)
				if n%10 == 0 {
					path = fmt.Sprintf("/new/%d/%d", worker, n)
				}
				body, err := request(namespace, v1alpha1.EdgeName("front"), "http", path).MaxRetries(0).DoRaw(context.WithoutCancel(ctx))
				if err == nil && !originAnswer(path).Match(body) {
					err = fmt.Errorf("the answer is %q", body)
				}
				mu.Lock()
				if c.requests++; err != nil {
					c.failures = append(c.failures, fmt.Sprintf("%s: %s: %v", time.Now().Format(time.TimeOnly), path, err))
				}
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	go func() {
		defer close(c.done)
		group.Wait()
	}()
	return c
}

// newSmallCache creates a cache of two shards with small volumes of their own.
func newSmallCache(t *testing.T) *v1alpha1.NginxCache {
	t.Helper()
	needStorageClass(t)
	return newCacheOn(t, newNamespace(t), 2, v1alpha1.Storage{Size: resource.MustParse("32Mi"), StorageClassName: &storageClass})
}

// waitDegraded waits until a cache is degraded for a reason, with a message that has a text.
func waitDegraded(t *testing.T, cache *v1alpha1.NginxCache, reason, text string) {
	t.Helper()
	eventually(t, "Degraded is "+reason, func() error {
		if err := get(t, cache); err != nil {
			return err
		}
		c := meta.FindStatusCondition(cache.Status.Conditions, v1alpha1.ConditionDegraded)
		if c == nil || c.Reason != reason || !strings.Contains(c.Message, text) {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}

// wantEvent waits for an event of a cache.
func wantEvent(t *testing.T, cache *v1alpha1.NginxCache, reason string) {
	t.Helper()
	eventually(t, "the event "+reason, func() error {
		list := &eventsv1.EventList{}
		if err := kube.List(t.Context(), list, client.InNamespace(cache.Namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Name == cache.Name {
				return nil
			}
		}
		return fmt.Errorf("it is none of %d events", len(list.Items))
	})
}

// inShard runs a shell command in a shard.
func inShard(t *testing.T, cache *v1alpha1.NginxCache, shard int, script string) {
	t.Helper()
	pod := naming.Pod(v1alpha1.ShardsName(cache.Name), shard)
	if output, err := kubectl(t, "-n", cache.Namespace, "exec", pod, "-c", naming.NginxContainer, "--", "sh", "-c", script); err != nil {
		t.Fatalf("%s: %v: %s", script, err, output)
	}
}

// replaceShard deletes the pod of a shard, and waits until another one is ready.
func replaceShard(t *testing.T, cache *v1alpha1.NginxCache, shard int) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: naming.Pod(v1alpha1.ShardsName(cache.Name), shard)}}
	must(t, get(t, pod))
	before := pod.UID
	must(t, kube.Delete(t.Context(), pod))
	waitReplaced(t, pod, before)
}

// waitReplaced waits until there is another pod of the same name, and it is ready.
func waitReplaced(t *testing.T, pod *corev1.Pod, before types.UID) {
	t.Helper()
	eventually(t, pod.Name+" is ready again", func() error {
		if err := get(t, pod); err != nil {
			return err
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pod.UID != before {
				return nil
			}
		}
		return errors.New("it is not")
	})
}

// TestCacheVolumeLost: a shard whose volume is lost begins with an empty one, and says so. No request fails.
func TestCacheVolumeLost(t *testing.T) {
	t.Parallel()
	cache := newSmallCache(t)
	// Shards that begin within 10 s are those of a new cache. The loss is large, so that it lasts.
	for folder, began := 0, time.Now(); time.Since(began) < 10*time.Second; folder++ {
		answers(t, cache, fmt.Sprintf("/objects/%d", folder))
	}
	traffic := startCheckedTraffic(t, cache)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: cache.Namespace, Name: "cache-objects-front-shards-1"}}
	must(t, kube.Delete(t.Context(), claim))
	replaceShard(t, cache, 1)
	waitDegraded(t, cache, v1alpha1.ReasonShardsRefilling, "front-shards-1 began with an empty volume at ")
	wantEvent(t, cache, v1alpha1.ReasonShardsRefilling)
	traffic.stop(t)
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// TestCacheVolumeFull: a shard whose volume is full answers with what it has, and says so. No request fails.
func TestCacheVolumeFull(t *testing.T) {
	t.Parallel()
	cache := newSmallCache(t)
	traffic := startCheckedTraffic(t, cache)
	other, fill := cacheconf.Dir+"/other", "/tmp/fill"
	// nginx makes room by removing objects, which the other file takes as well.
	inShard(t, cache, 0, "touch "+fill+"; (while [ -e "+fill+" ]; do head -c 131072 /dev/zero >> "+other+"; sleep 0.05; done > /dev/null 2>&1 &)")
	waitDegraded(t, cache, v1alpha1.ReasonNotStoring, "the volume of front-shards-0 takes no objects, because it is full: about 50 % of the objects")
	inShard(t, cache, 0, "rm "+fill+"; sleep 1; rm "+other)
	waitDegraded(t, cache, v1alpha1.ReasonNothingLost, "")
	traffic.stop(t)
}

// TestCacheFilesDamaged: a shard whose files are damaged, while it serves or while its pod is replaced, requests what it lost
// from the origin. No request fails, and no purged object comes back.
func TestCacheFilesDamaged(t *testing.T) {
	t.Parallel()
	cache := newSmallCache(t)
	before := answers(t, cache, "/objects")
	host, _, _ := strings.Cut(before["/objects/1"], " ")
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{Prefixes: []string{"http://" + host + "/objects/"}}), v1alpha1.ReasonPurged)
	traffic := startCheckedTraffic(t, cache)
	// The image has no find. The objects of the second shard stay as they are: it must not hand over what was purged.
	inShard(t, cache, 0, "for f in "+cacheconf.Dir+"/objects/*/*/*; do echo garbage > $f; done; rm -r "+cacheconf.Dir+"/purged; echo garbage > "+cacheconf.Dir+"/purged")
	inShard(t, cache, 1, "rm -r "+cacheconf.Dir+"/purged/tree; echo garbage > "+cacheconf.Dir+"/purged/number; echo garbage > "+cacheconf.Dir+"/since")
	for shard := range 2 {
		replaceShard(t, cache, shard)
	}
	waitCache(t, cache, v1alpha1.ConditionReady, metav1.ConditionTrue)
	traffic.stop(t)
	if changed := purgedPaths(before, answers(t, cache, "/objects")); len(changed) != len(before) {
		t.Errorf("of %d purged objects, only %d are gone", len(before), len(changed))
	}
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{All: new(true)}), v1alpha1.ReasonPurged)
}
