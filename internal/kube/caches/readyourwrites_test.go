package caches

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/internal/kube/pages/pagestest"
)

// TestReads: if the cache does not catch up, reads from the API server select the same objects as
// the cache would.
func TestReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := readsOf(t, pod("a", "one", "web"), pod("a", "two", "other"), pod("b", "three", "web"), pod("c", "four", "web"))
		wroteTo(t, r, &corev1.PodList{}, "a", 7)
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

// TestLateInformer: after a read has timed out, further reads of the namespace wait only briefly, until the informer has
// caught up. Reads of other namespaces and kinds do not wait.
func TestLateInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := readsOf(t)
		pods := wroteTo(t, r, &corev1.PodList{}, "a", 7)
		waited := func(namespace string, list client.ObjectList) time.Duration {
			begin := time.Now()
			if err := r.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			return time.Since(begin)
		}
		for i, tt := range []struct {
			shown     string
			namespace string
			list      client.ObjectList
			want      time.Duration
		}{
			{"6", "a", &corev1.PodList{}, readTimeout},
			{"6", "a", &corev1.PodList{}, lateReadTimeout},
			{"6", "b", &corev1.PodList{}, 0},
			{"6", "a", &corev1.ConfigMapList{}, 0},
			{"6", "", &corev1.PodList{}, readTimeout},
			{"8", "a", &corev1.PodList{}, 0},
		} {
			pods.show(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: tt.shown}})
			if took := waited(tt.namespace, tt.list); took != tt.want {
				t.Errorf("read %d: waited %s, want %s", i+1, took, tt.want)
			}
		}
		if err := pods.write("a", "9"); err != nil {
			t.Fatal(err)
		}
		if took := waited("a", &corev1.PodList{}); took != readTimeout {
			t.Errorf("after another write: waited %s, want %s", took, readTimeout)
		}
		go func() {
			time.Sleep(time.Second)
			pods.show(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "10"}})
		}()
		if err := pods.write("b", "10"); err != nil {
			t.Fatal(err)
		}
		if took := waited("b", &corev1.PodList{}); took != time.Second {
			t.Errorf("until the informer shows it: waited %s, want 1s", took)
		}
		if len(pods.written) != 2 {
			t.Errorf("versions of %v are kept", pods.written)
		}
		if err := pods.write("c", "11"); err != nil || len(pods.written) != 1 {
			t.Errorf("versions that were shown are kept: %v (%v)", pods.written, err)
		}
	})
}

// wroteTo makes reads wait for a version of a kind in a namespace.
func wroteTo(t *testing.T, r *ReadYourWrites, of client.ObjectList, namespace string, version int) *versions {
	t.Helper()
	form, err := r.formOf(of)
	if err != nil {
		t.Fatal(err)
	}
	made, _ := r.versions.LoadOrStore(form, newVersions())
	written := made.(*versions)
	if err := written.write(namespace, strconv.Itoa(version)); err != nil {
		t.Fatal(err)
	}
	return written
}

func pod(namespace, name, application string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"application": application}}}
}

// readsOf returns a client whose informer of pods never catches up with writes in the namespaces a, b and c.
func readsOf(t *testing.T, objects ...client.Object) *ReadYourWrites {
	t.Helper()
	r := NewReadYourWrites([]string{"a", "b"}, func() ctrlcache.Options { return ctrlcache.Options{} })
	r.live = fake.NewClientBuilder().WithObjects(objects...).
		WithIndex(&corev1.Pod{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).Build()
	r.Client = fake.NewFakeClient()
	r.indexes[indexKey(&corev1.Pod{}, "application")] = func(o client.Object) []string { return []string{o.GetLabels()["application"]} }
	return r
}

// TestLateInformerOfLargeObjects: a list from the API server is read in pages. It keeps what the cache would keep, within a
// budget that begins with each list.
func TestLateInformerOfLargeObjects(t *testing.T) {
	objects := pagestest.Objects(80, 250<<10)
	for i := range objects {
		objects[i].Labels = map[string]string{"application": []string{"web", "other"}[i%2]}
	}
	server := pagestest.Start(t, objects)
	r := readsOf(t)
	live, err := client.New(server.Config(), client.Options{Scheme: scheme.Scheme, Mapper: pagestest.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	r.live = live
	r.indexes[indexKey(&corev1.ConfigMap{}, "application")] = r.indexes[indexKey(&corev1.Pod{}, "application")]
	r.cached = func() ctrlcache.Options {
		left := 3
		return ctrlcache.Options{ByObject: map[client.Object]ctrlcache.ByObject{&corev1.ConfigMap{}: {
			Label: labels.SelectorFromSet(labels.Set{"owned": "yes"}),
			Transform: func(object any) (any, error) {
				if left--; left < 0 {
					object.(*corev1.ConfigMap).Annotations = nil
				}
				return object, nil
			},
		}}}
	}
	for range 2 {
		list := &corev1.ConfigMapList{}
		options := &client.ListOptions{Namespace: "shop", FieldSelector: fields.OneTermEqualSelector("application", "web"), LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"})}
		if err := r.listLive(t.Context(), list, options); err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, item := range list.Items {
			if item.Annotations != nil {
				whole++
			}
		}
		if len(list.Items) != 40 || whole != 3 {
			t.Errorf("%d objects are found, %d of them with their content", len(list.Items), whole)
		}
	}
	if largest := server.Largest(); largest > pagestest.MaxRead {
		t.Errorf("the client reads %d bytes of a response, in pages of up to %v objects", largest, server.Limits())
	}
	if got := server.Selectors(); !slices.Equal(got, []string{"a=b,owned=yes"}) {
		t.Errorf("the requests select %q", got)
	}
}
