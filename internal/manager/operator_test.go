package manager

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/pages"
	"example.com/nginx-operator/internal/kube/pages/pagestest"
)

// TestPagesAreMeasured: the operator's clients bound the pages of lists. Without a measure, pages after the first one are small.
func TestPagesAreMeasured(t *testing.T) {
	server := pagestest.Start(t, pagestest.Objects(pages.Most+50, 10))
	live, err := client.New(clientConfig(&rest.Config{Host: server.Config().Host}), client.Options{Scheme: scheme.Scheme, Mapper: pagestest.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	if err := pages.Of(live)(t.Context(), &corev1.ConfigMapList{}, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got, want := server.Limits(), []int{pages.Most, pages.Most}; !slices.Equal(got, want) {
		t.Errorf("pages of up to %v objects, want %v", got, want)
	}
}
