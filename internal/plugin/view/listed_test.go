package view

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
)

// windows are what pods have served, by their names. A pod that is missing does not answer.
type windows map[string]instanceapi.RequestWindow

// Get implements Measurer.
func (w windows) Get(_ context.Context, pod client.ObjectKey, _ string, _ map[string]string) ([]byte, error) {
	window, known := w[pod.Name]
	if !known {
		return nil, errors.New("no route to host")
	}
	return json.Marshal(window)
}

func podsOf(application string, names ...string) (pods []corev1.Pod) {
	for _, name := range names {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{v1alpha2.LabelNginxOperator: application}}})
	}
	return pods
}

func listedApplications(names ...string) (applications []Listed) {
	for i, name := range names {
		created := metav1.NewTime(time.Unix(int64(1000*(i+1)), 0))
		applications = append(applications, Listed{Nginx: v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: created}}})
	}
	return applications
}

// TestReadListedTraffic: the pods of each application are added up, and applications whose pods are too many are left out.
func TestReadListedTraffic(t *testing.T) {
	pods := slices.Concat(podsOf("web", "web-1", "web-2"), podsOf("big", "big-1", "big-2", "big-3"), podsOf("api", "api-1"))
	served := windows{
		"web-1": {Seconds: 60, Requests: 600, Errors: 60}, "web-2": {Seconds: 10, Requests: 200}, "big-1": {Seconds: 60, Requests: 6}, "api-1": {Seconds: 60, Requests: 60},
	}
	traffic := func(perSecond, errors float64, pods, answering int) *ApplicationTraffic {
		return &ApplicationTraffic{Traffic: Traffic{RequestsPerSecond: perSecond, ErrorShare: errors}, Pods: pods, Answering: answering}
	}
	web, big, api := traffic(30, 0.075, 2, 2), traffic(0.1, 0, 3, 1), traffic(1, 0, 1, 1)
	for _, tt := range []struct {
		most, leftOut, silent int
		want                  []*ApplicationTraffic
	}{
		{6, 0, 2, []*ApplicationTraffic{web, big, nil, api}}, {4, 1, 0, []*ApplicationTraffic{web, nil, nil, api}}, {1, 2, 0, []*ApplicationTraffic{nil, nil, nil, api}},
	} {
		applications := listedApplications("web", "big", "idle", "api")
		leftOut, silent, err := ReadListedTraffic(t.Context(), served, applications, pods, tt.most)
		if err != nil || leftOut != tt.leftOut || len(silent) != tt.silent {
			t.Errorf("at most %d pods: %d applications are left out, %q: %v", tt.most, leftOut, silent, err)
		}
		for i, want := range tt.want {
			if diff := cmp.Diff(want, applications[i].Traffic); diff != "" {
				t.Errorf("at most %d pods, %s: -want +got:\n%s", tt.most, applications[i].Nginx.Name, diff)
			}
		}
	}
}

// TestListOrder: the largest values are first, and what is not known is last.
func TestListOrder(t *testing.T) {
	applications := listedApplications("c", "b", "a", "unknown")
	for i, traffic := range []Traffic{{RequestsPerSecond: 5, P99: 1}, {ErrorShare: 0.5, RequestsPerSecond: 1, P99: 2}, {RequestsPerSecond: 5}} {
		applications[i].Traffic = &ApplicationTraffic{Traffic: traffic, Pods: 1, Answering: 1}
	}
	applications[0].Nginx.Status.Conditions = []metav1.Condition{{Type: v1alpha2.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha2.ReasonConfigRejected}}
	for name, want := range map[string]string{
		"state": "c a b unknown", "name": "a b c unknown", "age": "unknown a b c", "requests": "a c b unknown", "errors": "b a c unknown", "latency": "b c a unknown",
	} {
		key, err := ListOrder.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		key.Sort(applications, ListedByName)
		var got []string
		for i := range applications {
			got = append(got, applications[i].Nginx.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	if len(ListOrder) != 6 {
		t.Errorf("%d ways to sort", len(ListOrder))
	}
	if _, err := ListOrder.Find("size"); err == nil || !strings.Contains(err.Error(), "set it to state, name, age, requests, errors or latency") {
		t.Errorf("an unknown way: %v", err)
	}
}

// TestTopOrder: the largest values are first.
func TestTopOrder(t *testing.T) {
	slow, fast := 2.0, 0.1
	a := Load{Name: "a", Connections: 3}
	b := Load{Name: "b", Memory: 9}
	b.Requests, b.Errors, b.P99 = 1, 1, &fast
	c := Load{Name: "c"}
	c.Requests, c.Errors, c.P99 = 9, 2, &slow
	for name, want := range map[string]string{"requests": "cba", "errors": "bca", "latency": "cba", "connections": "abc", "memory": "bac", "name": "abc"} {
		key, err := TopOrder.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		loads, got := []Load{c, a, b}, ""
		key.Sort(loads, LoadByName)
		for _, l := range loads {
			got += l.Name
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
