//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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

// TestCachePurgeWithoutCache: a purge waits until its cache exists, and says so.
func TestCachePurgeWithoutCache(t *testing.T) {
	t.Parallel()
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(t), Name: "none"}}
	waitPurge(t, purge(t, cache, v1alpha1.NginxCachePurgeSpec{All: new(true)}), v1alpha1.ReasonCacheNotFound)
}
