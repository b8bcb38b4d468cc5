package caches

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestReads: if the cache does not catch up, reads from the API server select the same objects as
// the cache would.
func TestReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := readsOf(t, pod("a", "one", "web"), pod("a", "two", "other"), pod("b", "three", "web"), pod("c", "four", "web"))
		for name, tt := range map[string]struct {
			options []client.ListOption
			want    int
		}{
			"of all namespaces that may be read": {nil, 3},
			"of a namespace":                     {[]client.ListOption{client.InNamespace("a")}, 2},
			"by an index":                        {[]client.ListOption{client.MatchingFields{"application": "web"}}, 2},
			"by an index, of a namespace":        {[]client.ListOption{client.InNamespace("a"), client.MatchingFields{"application": "web"}}, 1},
			"by an index that there is not":      {[]client.ListOption{client.MatchingFields{"other": "web"}}, 0},
		} {
			list := &corev1.PodList{}
			err := r.List(t.Context(), list, tt.options...)
			found := map[string]bool{}
			for _, pod := range list.Items {
				found[pod.Name] = true
			}
			if err != nil || len(found) != tt.want {
				t.Errorf("%s: %v are found, want %d: %v", name, found, tt.want, err)
			}
		}
		found := &corev1.Pod{}
		if err := r.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "two"}, found); err != nil || found.Labels["application"] != "other" {
			t.Errorf("two is %v: %v", found, err)
		}
		if err := r.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "three"}, found); !apierrors.IsNotFound(err) {
			t.Errorf("what is not there: %v", err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := r.Get(ended, client.ObjectKey{Namespace: "a", Name: "two"}, found); err == nil {
			t.Error("a read goes on when nobody waits for it any more")
		}
	})
}

// TestLateCache: after a read has timed out, further reads wait only briefly, until the cache has
// caught up.
func TestLateCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := readsOf(t)
		late := r.Client
		waited := func(list client.ObjectList) time.Duration {
			begin := time.Now()
			if err := r.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			return time.Since(begin)
		}
		for i, tt := range []struct {
			cache client.Client
			list  client.ObjectList
			want  time.Duration
		}{
			{late, &corev1.PodList{}, readTimeout},
			{late, &corev1.PodList{}, lateReadTimeout},
			{late, &corev1.ConfigMapList{}, readTimeout},
			{fake.NewFakeClient(), &corev1.PodList{}, 0},
			{late, &corev1.PodList{}, readTimeout},
		} {
			r.Client = tt.cache
			if took := waited(tt.list); took != tt.want {
				t.Errorf("read %d: waited %s, want %s", i+1, took, tt.want)
			}
		}
	})
}

func pod(namespace, name, application string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"application": application}}}
}

// readsOf returns reads with a cache that never catches up.
func readsOf(t *testing.T, objects ...client.Object) *LateReads {
	t.Helper()
	live := fake.NewClientBuilder().WithObjects(objects...).
		WithIndex(&corev1.Pod{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).Build()
	r := NewLateReads([]string{"a", "b"})
	r.live = live
	waits := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	r.Client = interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return waits(ctx)
		},
		List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			return waits(ctx)
		},
	})
	r.indexes[indexKey(&corev1.Pod{}, "application")] = func(o client.Object) []string { return []string{o.GetLabels()["application"]} }
	return r
}
