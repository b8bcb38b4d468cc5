package instance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
)

// TestBoot: with a configuration that cannot be served, an instance is not ready and tells why, until
// there is another one.
func TestBoot(t *testing.T) {
	for text, problem := range map[string]string{"bad": "it is bad", "sticky": "it sticks"} {
		t.Run(text, func(t *testing.T) {
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("web")}, Data: map[string]string{"site.conf": text}}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}
			mounts := fake.NewClientBuilder().WithObjects(config, pod).Build()
			ups := 0
			i, err := Start(t.Context(), mounts, client.ObjectKeyFromObject(pod), "web", Up(func() { ups++ }))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = i.Close() }()
			status := ask(t, i)
			if status.Ready || status.Serving != "" || len(status.Revisions) != 1 || status.Revisions[0].Problems[0].Message != problem || !i.Down() {
				t.Errorf("its status is %+v", status)
			}
			config.Data["site.conf"] = "good"
			if err := mounts.Update(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			if status := ask(t, i); !status.Ready || status.Serving != status.Stable || status.Serving == "" || i.Down() || ups != 1 {
				t.Errorf("there is another configuration, and its status is %+v", status)
			}
		})
	}
}

func ask(t *testing.T, i *Instance) (status instanceapi.Status) {
	t.Helper()
	response, err := http.Get(fmt.Sprintf("http://%s:%d%s", i.IP, instanceapi.Port, instanceapi.PathStatus))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	return status
}
