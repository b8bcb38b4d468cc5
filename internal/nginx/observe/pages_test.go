package observe

import (
	"errors"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/kube/pages/pagestest"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestManyRevisions: ControllerRevisions of others with the label of an application, as of a StatefulSet with this label in its
// template, do not fill the operator's memory. The application's own revisions are found among them.
func TestManyRevisions(t *testing.T) {
	app := application.Of(of("u1", 3))
	app.Namespace = "shop"
	for name, tt := range map[string]struct {
		objects  []metav1.ObjectMeta
		requests int
	}{
		"usual":      {pagestest.Objects(40, 100), 1},
		"very large": {pagestest.Objects(80, 250<<10), 14},
	} {
		own := &tt.objects[len(tt.objects)-1]
		own.UID, own.OwnerReferences, own.Labels = "r9", []metav1.OwnerReference{{UID: "u1", Controller: new(true)}}, map[string]string{"theirs": "x"}
		own.Annotations[naming.AnnotationIntent] = own.Annotations["content"]
		t.Run(name+": newer history", func(t *testing.T) {
			server := pagestest.Start(t, tt.objects)
			err := (&Observer{live: liveOf(t, server)}).VerifyHistoryFresh(t.Context(), app, nil)
			if !errors.Is(err, owned.ErrStaleCache) {
				t.Errorf("the newer history is not found: %v", err)
			}
			bounded(t, server, tt.requests)
		})
		t.Run(name+": lost labels", func(t *testing.T) {
			server, state := pagestest.Start(t, tt.objects), &State{}
			if err := (&Observer{live: liveOf(t, server)}).unlabelledHistory(t.Context(), app, state); err != nil {
				t.Fatal(err)
			}
			bounded(t, server, tt.requests)
			if len(state.Unlabelled) != 1 {
				t.Fatalf("%d revisions without their label are found", len(state.Unlabelled))
			}
			found := state.Unlabelled[0]
			want := map[string]string{naming.AnnotationIntent: own.Annotations["content"][:min(len(own.Annotations["content"]), maxHash)]}
			if !maps.Equal(found.Annotations, want) || found.Labels != nil {
				t.Errorf("it keeps %d annotations and %d labels", len(found.Annotations), len(found.Labels))
			}
			if found.GroupVersionKind() != appsv1.SchemeGroupVersion.WithKind("ControllerRevision") || found.UID != "r9" || found.Name != own.Name || found.ResourceVersion != "1" {
				t.Errorf("found: %+v", found)
			}
		})
	}
}

// liveOf returns a client of a server.
func liveOf(t *testing.T, server *pagestest.Server) client.Client {
	t.Helper()
	live, err := client.New(server.Config(), client.Options{Scheme: scheme.Scheme, Mapper: pagestest.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// bounded checks the requests to a server.
func bounded(t *testing.T, server *pagestest.Server, requests int) {
	t.Helper()
	if largest := server.Largest(); largest > pagestest.MaxRead {
		t.Errorf("the client reads %d bytes of a response", largest)
	}
	if limits := server.Limits(); len(limits) > requests {
		t.Errorf("%d requests, want at most %d: pages of %v", len(limits), requests, limits)
	}
}
