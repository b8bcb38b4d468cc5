package audit

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClassify(t *testing.T) {
	in := func(namespace, group, resource, subresource string) *Object {
		return &Object{Group: group, Resource: resource, Subresource: subresource, Namespace: namespace}
	}
	tests := []struct {
		name  string
		event Event
		want  Class
	}{
		{"apply", Event{Verb: "patch", Object: in("shop", "apps", "deployments", "")}, Write},
		{"status", Event{Verb: "patch", Object: in("shop", "operator.example.com", "nginxoperators", "status")}, Write},
		{"delete", Event{Verb: "delete", Object: in("shop", "policy", "poddisruptionbudgets", "")}, Write},
		{"event of an application", Event{Verb: "create", Object: in("shop", "events.k8s.io", "events", "")}, Write},
		{"a verb that is not known", Event{Verb: "bind", Object: in("shop", "", "roles", "")}, Write},
		{"get", Event{Verb: "get", Object: in("shop", "", "configmaps", "")}, Read},
		{"list", Event{Verb: "list", Object: in("", "", "pods", "")}, Read},
		{"discovery", Event{Verb: "get", RequestURI: "/apis"}, Read},
		{"watch that lists", Event{Verb: "watch", RequestURI: "/api/v1/pods?sendInitialEvents=true&watch=true", Object: in("", "", "pods", "")}, Read},
		{"watch that continues", Event{Verb: "watch", RequestURI: "/api/v1/pods?resourceVersion=7&watch=true", Object: in("", "", "pods", "")}, Watch},
		{"lease", Event{Verb: "update", Object: in("home", "coordination.k8s.io", "leases", "")}, Lease},
		{"first lease", Event{Verb: "create", Object: in("home", "coordination.k8s.io", "leases", "")}, Lease},
		{"another namespace's lease", Event{Verb: "update", Object: in("kube-node-lease", "coordination.k8s.io", "leases", "")}, Write},
		{"lease event", Event{Verb: "create", Object: in("home", "", "events", "")}, LeaseEvent},
		{"events read at home", Event{Verb: "list", Object: in("home", "", "events", "")}, Read},
		{"token review", Event{Verb: "create", Object: in("", "authentication.k8s.io", "tokenreviews", "")}, Review},
		{"access review", Event{Verb: "create", Object: in("", "authorization.k8s.io", "subjectaccessreviews", "")}, Review},
		{"the webhook's certificate", Event{Verb: "update", Object: in("home", "", "secrets", "")}, Write},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Classify(tt.event, "home"); got != tt.want {
				t.Errorf("it counts among %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTally(t *testing.T) {
	web := &Object{Group: "apps", Resource: "deployments", Namespace: "shop"}
	got := Tally([]Event{
		{Verb: "get", RequestURI: "/apis?timeout=5s", Response: Response{Code: 200}},
		{Verb: "patch", Object: web, Response: Response{Code: 201}},
		{Verb: "list", Object: &Object{Resource: "pods"}, Response: Response{Code: 200}},
		{Verb: "patch", Object: web, Response: Response{Code: 201}},
		{Verb: "patch", Object: web, Response: Response{Code: 409}},
	})
	want := []string{
		"2 × patch deployments in shop (201)",
		"1 × get /apis (200)",
		"1 × list pods (200)",
		"1 × patch deployments in shop (409)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEach(t *testing.T) {
	request := func(verb string) Event {
		return Event{Verb: verb, Object: &Object{Resource: "jobs", Namespace: "shop"}, Response: Response{Code: 200}}
	}
	got := Each([]Event{request("delete"), request("list"), request("list"), request("list")}, 2)
	if diff := cmp.Diff([]string{"1.500 × list jobs in shop (200)", "0.500 × delete jobs in shop (200)"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTallyIsShort(t *testing.T) {
	var events []Event
	for i := range tallyLines + 3 {
		events = append(events, Event{Verb: "get", Object: &Object{Resource: "pods", Namespace: fmt.Sprintf("shop-%02d", i)}})
	}
	got := Tally(events)
	if len(got) != tallyLines+1 || got[tallyLines] != "3 × others" {
		t.Errorf("the tally ends with %q after %d lines", got[len(got)-1], len(got))
	}
	if in := In("shop-01", append(events, Event{Verb: "get"})); len(in) != 1 {
		t.Errorf("%d requests are about one namespace", len(in))
	}
}

func TestDurations(t *testing.T) {
	took := func(resource string, d time.Duration) Event {
		return Event{Verb: "patch", Object: &Object{Resource: resource}, Received: noon, Done: noon.Add(d)}
	}
	events := []Event{
		took("services", 30*time.Millisecond), took("pods", time.Millisecond), took("services", 50*time.Millisecond),
	}
	if diff := cmp.Diff([]string{"40.0 ms for patch services", "1.0 ms for patch pods"}, Durations(events)); diff != "" {
		t.Error(diff)
	}
	if got := MeanDuration(events); got != 27*time.Millisecond {
		t.Errorf("the mean is %s", got)
	}
	if got := MeanDuration(nil); got != 0 {
		t.Errorf("the mean of nothing is %s", got)
	}
}
