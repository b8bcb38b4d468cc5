package caches

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"example.com/nginx-operator/internal/kube/pages/pagestest"
)

// synced starts an informer of the metadata of all ConfigMaps, and returns the number of objects that it has.
func synced(t *testing.T, server *pagestest.Server) int {
	t.Helper()
	cache, err := NewConcurrent(server.Config(), ctrlcache.Options{
		Scheme: scheme.Scheme, Mapper: pagestest.Mapper(), DefaultTransform: func(object any) (any, error) {
			object.(*metav1.PartialObjectMetadata).Annotations = nil
			return object, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if _, err := cache.GetInformer(t.Context(), object, ctrlcache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cache.Start(t.Context()) }()
	if !cache.WaitForCacheSync(t.Context()) {
		t.Fatal("the informer does not start")
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := cache.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

// TestManySmallObjects: a list of many small objects ends before etcd compacts its version.
func TestManySmallObjects(t *testing.T) {
	server := pagestest.Start(t, pagestest.Objects(20_000, 10))
	server.Expiry = 100
	if n := synced(t, server); n != len(server.Objects) {
		t.Errorf("of %d objects, %d are shown", len(server.Objects), n)
	}
	if n := len(server.Limits()); n != 40 {
		t.Errorf("%d requests, want 40", n)
	}
}

// TestLargeObjects: an informer stops reading a page that is too large.
func TestLargeObjects(t *testing.T) {
	server := pagestest.Start(t, pagestest.Objects(80, 250<<10))
	if n := synced(t, server); n != len(server.Objects) {
		t.Errorf("of %d objects, %d are shown", len(server.Objects), n)
	}
	if largest := server.Largest(); largest > pagestest.MaxRead {
		t.Errorf("the informer reads %d bytes of a response, in pages of up to %v objects", largest, server.Limits())
	}
}
