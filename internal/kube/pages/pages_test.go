package pages_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/pages"
	"example.com/nginx-operator/internal/kube/pages/pagestest"
)

// liveOf returns a client of a server.
func liveOf(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	live, err := client.New(config, client.Options{Scheme: scheme.Scheme, Mapper: pagestest.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// read reads the names of all ConfigMaps.
func read(t *testing.T, live client.Reader, list client.ObjectList, names func() []string) []string {
	t.Helper()
	var all []string
	err := pages.Of(live)(t.Context(), list, func() error {
		all = append(all, names()...)
		return nil
	}, client.InNamespace("shop"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readMetadata reads the names of all ConfigMaps from their metadata, and checks that each is read once.
func readMetadata(t *testing.T, live client.Reader, want []metav1.ObjectMeta) {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	got := read(t, live, list, func() (names []string) {
		for _, item := range list.Items {
			names = append(names, item.Name)
		}
		return names
	})
	if !slices.EqualFunc(want, got, func(object metav1.ObjectMeta, name string) bool { return object.Name == name }) {
		t.Errorf("of %d objects, %d are read", len(want), len(got))
	}
}

// TestPages: small objects take few requests. Each object is read once, and an error ends the list.
func TestPages(t *testing.T) {
	for has, requests := range map[int]int{0: 1, 1: 1, pages.Most: 1, pages.Most + 1: 2, 3 * pages.Most: 3} {
		server := pagestest.Start(t, pagestest.Objects(has, 10))
		readMetadata(t, liveOf(t, server.Config()), server.Objects)
		if limits := server.Limits(); len(limits) != requests {
			t.Errorf("%d objects are read in pages of up to %v, want %d", has, limits, requests)
		}
	}
	failed, calls := errors.New("failed"), 0
	server := pagestest.Start(t, pagestest.Objects(3*pages.Most, 10))
	err := pages.Of(liveOf(t, server.Config()))(t.Context(), &corev1.ConfigMapList{}, func() error {
		calls++
		return failed
	}, client.InNamespace("shop"))
	if !errors.Is(err, failed) || calls != 1 || len(server.Limits()) != 1 {
		t.Errorf("after an error, %d pages are read in %d requests: %v", calls, len(server.Limits()), err)
	}
}

// TestLargePages: wherever the large objects are, the client stops reading a page that is too large, and requests fewer objects.
func TestLargePages(t *testing.T) {
	const large = 250 << 10
	hidden := pagestest.Objects(1200, 10)
	for i := 600; i < 670; i++ {
		hidden[i].Annotations = pagestest.Objects(1, large)[0].Annotations
	}
	for name, tt := range map[string]struct {
		objects  []metav1.ObjectMeta
		requests int
	}{
		"all are large":           {pagestest.Objects(100, large), 30},
		"large ones after others": {hidden, 30},
		"as large as admitted":    {pagestest.Objects(14, 3<<19), 20},
	} {
		server := pagestest.Start(t, tt.objects)
		readMetadata(t, liveOf(t, server.Config()), tt.objects)
		if largest := server.Largest(); largest > pagestest.MaxRead {
			t.Errorf("%s: the client reads %d bytes of a response", name, largest)
		}
		if limits := server.Limits(); len(limits) > tt.requests {
			t.Errorf("%s: %d requests, want at most %d: pages of %v", name, len(limits), tt.requests, limits)
		}
	}
}

// TestPagesDoNotMix: an object has nothing of the one that was at its place in the previous page.
func TestPagesDoNotMix(t *testing.T) {
	objects := pagestest.Objects(2*pages.Most, 10)
	for i := range pages.Most {
		objects[i].Labels = map[string]string{"theirs": "x"}
		objects[i].OwnerReferences = []metav1.OwnerReference{{Name: "web", UID: "web"}}
	}
	server := pagestest.Start(t, objects)
	list := &corev1.ConfigMapList{}
	got := read(t, liveOf(t, server.Config()), list, func() (names []string) {
		for _, item := range list.Items {
			names = append(names, fmt.Sprint(item.Name, len(item.Labels), len(item.OwnerReferences)))
		}
		return names
	})
	for i, object := range objects {
		if want := fmt.Sprint(object.Name, len(object.Labels), len(object.OwnerReferences)); got[i] != want {
			t.Fatalf("object %d is read as %s, want %s", i, got[i], want)
		}
	}
}

// TestUnmeasuredPages: without the transport, the pages after the first one are small.
func TestUnmeasuredPages(t *testing.T) {
	server := pagestest.Start(t, pagestest.Objects(pages.Most+20, 10))
	readMetadata(t, liveOf(t, &rest.Config{Host: server.Config().Host}), server.Objects)
	if got, want := server.Limits(), slices.Concat([]int{pages.Most}, slices.Repeat([]int{1}, 20)); !slices.Equal(got, want) {
		t.Errorf("pages of up to %v objects, want %v", got, want)
	}
}
