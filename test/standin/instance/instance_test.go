package instance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
)

// TestBoot: with a configuration that cannot be served, an instance is not ready and reports the
// reason, until another configuration is mounted.
func TestBoot(t *testing.T) {
	for text, problem := range map[string]string{"bad": "it is bad", "sticky": "it sticks"} {
		t.Run(text, func(t *testing.T) {
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("web")}, Data: map[string]string{"site.conf": text}}
			ups := 0
			i, mounts := start(t, config, Up(func() { ups++ }))
			if problems := getStatus(t, i, false).Revisions[0].Problems; problems[0].Message != problem {
				t.Errorf("it reports %v", problems)
			}
			config.Data["site.conf"] = "good"
			if err := mounts.Update(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			getStatus(t, i, true)
			if ups != 1 {
				t.Errorf("it came up %d times", ups)
			}
		})
	}
}

// TestRequests: the text of a configuration decides the result of the requests.
func TestRequests(t *testing.T) {
	for text, errors := range map[string]int64{"good": 0, "a key, 0bad1e": 0, "faulty": 1000} {
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: naming.ConfigMap("web")}, Data: map[string]string{"site.conf": text}}
		i, _ := start(t, config)
		if status := getStatus(t, i, true); status.ServingSeconds == nil {
			t.Errorf("%s: it does not report for how long it has served", text)
		}
		window, err := instanceapi.NewClient(time.Second).Requests(t.Context(), i.IP, "", 1)
		if err != nil || window.Requests != 1000 || window.Errors != errors {
			t.Errorf("%s: its requests are %+v, %v", text, window, err)
		}
	}
}

func start(t *testing.T, config *corev1.ConfigMap, options ...Option) (*Instance, client.Client) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "web-1", UID: "p1"}}
	mounts := fake.NewClientBuilder().WithObjects(config, pod).Build()
	i, err := Start(t.Context(), mounts, client.ObjectKeyFromObject(pod), "web", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	return i, mounts
}

// getStatus reads the status of an instance, and checks whether it serves.
func getStatus(t *testing.T, i *Instance, serves bool) (status instanceapi.Status) {
	t.Helper()
	response, err := http.Get(fmt.Sprintf("http://%s:%d%s", i.IP, instanceapi.Port, instanceapi.PathStatus))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	if status.Ready != serves || (status.Serving != "") != serves || i.Down() == serves {
		t.Errorf("its status is %+v", status)
	}
	return status
}
