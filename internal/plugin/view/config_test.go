package view

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// answers are the revisions that pods serve, by their names. Others do not answer.
type answers map[string]string

// ServedConfig implements Querier.
func (a answers) ServedConfig(_ context.Context, pod client.ObjectKey) (instanceapi.ServedConfig, error) {
	revision, ok := a[pod.Name]
	if !ok {
		return instanceapi.ServedConfig{}, errors.New(pod.Name + " does not answer")
	}
	return instanceapi.ServedConfig{Revision: revision, Files: instanceapi.ConfigFiles{"site.conf": []byte(revision)}}, nil
}

// TestReadServed: pods that serve the same are one, and one that does not answer is named beside the others.
func TestReadServed(t *testing.T) {
	var pods []corev1.Pod
	for _, name := range []string{"web-1", "web-2", "web-3", "web-4"} {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	got, failures := ReadServed(t.Context(), answers{"web-1": "a", "web-2": "b", "web-4": "b"}, pods)
	want := []Config{
		{Name: "served", Revision: "b", Files: map[string]string{"site.conf": "b"}, Pods: []string{"web-2", "web-4"}},
		{Name: "served", Revision: "a", Files: map[string]string{"site.conf": "a"}, Pods: []string{"web-1"}},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(failures) != 1 || failures[0].Error() != "web-3 does not answer" {
		t.Errorf("failures %v; -want +got:\n%s", failures, diff)
	}
}

// TestContentOf: large configurations are compressed in the history, and are compared all the same.
func TestContentOf(t *testing.T) {
	for _, text := range []string{"server {}", strings.Repeat("# long\n", 20000)} {
		raw, err := history.Data{Config: history.Config{Revision: "r", Files: nginxconf.Files{"site.conf": text}}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := contentOf(&appsv1.ControllerRevision{Revision: 3, Data: runtime.RawExtension{Raw: raw}})
		if err != nil || got.Name != "revision 3" || got.Files["site.conf"] != text || got.Files[specFile] == "" {
			t.Errorf("%d bytes: %s, %v, %v", len(text), got.Name, len(got.Files["site.conf"]), err)
		}
	}
}
