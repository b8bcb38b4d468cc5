package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOf(t *testing.T) {
	a := &Application{}
	err := json.Unmarshal([]byte(`{
		"apiVersion": "operator.example.com/v1alpha2", "kind": "NginxOperator",
		"metadata": {"namespace": "shop", "name": "web", "generation": 2, "creationTimestamp": "2026-11-20T12:00:00Z", "managedFields": [{"manager": "x"}]},
		"spec": {"replicas": 3, "rollout": {"toRevision": 4}, "config": {"files": {"a.conf": ""}}},
		"status": {
			"readyReplicas": 2, "restarts": 1, "image": "nginx:1.30", "revision": 7,
			"config": {"revision": "0123456789abcdef", "loadedReplicas": 1},
			"certificates": [{"name": "a", "notAfter": "2027-01-02T00:00:00Z"}, {"name": "b", "notAfter": "2027-01-01T00:00:00Z"}, {"name": "c"}],
			"waitingRollout": {"revision": "r", "gates": ["backup"], "since": "2026-11-26T12:00:00Z"},
			"conditions": [{"type": "Ready", "status": "False", "reason": "WaitingForGate", "message": "line\nend", "observedGeneration": 2, "lastTransitionTime": "2026-11-26T12:00:00Z"}]
		}}`), a)
	if err != nil {
		t.Fatal(err)
	}
	want := Row{
		Namespace: "shop", Name: "web", State: Waiting, Reason: "WaitingForGate", Message: "line end",
		Since: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), Created: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		Replicas: 3, Ready: 2, Restarts: 1, Image: "nginx:1.30", Revision: 7, Config: "0123456789abcdef", Loaded: 1,
		Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Gates: []string{"backup"}, Pinned: 4,
	}
	if diff := cmp.Diff(want, Of(a)); diff != "" || Key(a) != "shop/web" {
		t.Errorf("%s: -want +got:\n%s", Key(a), diff)
	}
}

// TestOfLongMessage: a row has one line.
func TestOfLongMessage(t *testing.T) {
	a := &Application{}
	a.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "x", Message: strings.Repeat("é", 10000)}}
	if got := len(Of(a).Message); got > maxMessage {
		t.Errorf("the message has %d bytes", got)
	}
}

func TestStateOf(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) *metav1.Condition {
		return &metav1.Condition{Type: "Ready", Status: status, Reason: reason}
	}
	for name, tt := range map[string]struct {
		ready              *metav1.Condition
		waiting, suspended bool
		want               State
	}{
		"not reported":              {nil, false, false, Progressing},
		"ready":                     {ready("True", "Ready"), false, false, Ready},
		"unknown":                   {ready("Unknown", "InstanceUnreachable"), false, false, Progressing},
		"rolling out":               {ready("False", "RolloutInProgress"), false, false, Progressing},
		"rejected":                  {ready("False", "ConfigRejected"), false, false, NotReady},
		"a new reason":              {ready("False", "Another"), false, false, NotReady},
		"waiting":                   {ready("False", "WaitingForGate"), true, false, Waiting},
		"paused":                    {ready("False", "RolloutPaused"), false, false, Waiting},
		"waiting, and a failure":    {ready("False", "RolledBack"), true, false, Waiting},
		"suspended":                 {ready("True", "Ready"), false, true, Suspended},
		"suspended before a change": {ready("False", "Suspended"), false, true, Suspended},
	} {
		if got := StateOf(tt.ready, tt.waiting, tt.suspended); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
