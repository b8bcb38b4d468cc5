// Package page computes what the console shows of one application, in parts: a part is sent again when it changes. It is
// pure.
package page

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/plugin/console/fleet"
)

// Objects are an application with what belongs to it.
type Objects struct {
	// Nginx is nil if the application does not exist.
	Nginx      *v1alpha2.NginxOperator
	Pods       []corev1.Pod
	Revisions  []appsv1.ControllerRevision
	ConfigMaps []corev1.ConfigMap
	Events     []eventsv1.Event
	Backups    []Backup
	// Zones are the zones of nodes, by the names of the nodes.
	Zones map[string]string
	// NotShown says of each resource that the viewer may not read why.
	NotShown map[string]string
}

// Part is a part of the page.
type Part struct {
	Name string `json:"part"`
	Data any    `json:"data"`
}

// Parts returns the parts of the page. Without an application, there is one that says so.
func Parts(o *Objects) []Part {
	if o.Nginx == nil {
		return []Part{{"missing", true}}
	}
	h := history.Read(o.Revisions)
	return []Part{
		{"summary", summary(o.Nginx)},
		{"conditions", conditions(o.Nginx)},
		{"rollout", rollout(o.Nginx, h)},
		{"pods", pods(o, h)},
		{"config", configuration(o)},
		{"certificates", certificates(o.Nginx)},
		{"history", revisions(o.Nginx, h)},
		{"backups", backups(o)},
		{"events", events(o.Events)},
		{"notShown", notShown(o.NotShown)},
	}
}

// Summary is what runs, and why the application is not ready.
type Summary struct {
	State        fleet.State        `json:"state"`
	Reason       string             `json:"reason,omitempty"`
	Message      string             `json:"message,omitempty"`
	Since        time.Time          `json:"since,omitzero"`
	Created      time.Time          `json:"created"`
	Replicas     int32              `json:"replicas"`
	Ready        int32              `json:"ready"`
	Restarts     int32              `json:"restarts"`
	Image        string             `json:"image"`
	NginxVersion string             `json:"nginxVersion,omitempty"`
	Revision     int64              `json:"revision,omitempty"`
	Pinned       int64              `json:"pinned,omitempty"`
	Suspended    bool               `json:"suspended,omitempty"`
	Addresses    []v1alpha2.Address `json:"addresses,omitempty"`
}

func summary(n *v1alpha2.NginxOperator) Summary {
	s := Summary{
		Created: n.CreationTimestamp.UTC(), Replicas: replicas(n), Ready: n.Status.ReadyReplicas,
		Restarts: n.Status.Restarts, Image: n.Status.Image, NginxVersion: n.Status.NginxVersion, Revision: n.Status.Revision,
		Suspended: n.Spec.Suspend != nil && *n.Spec.Suspend, Addresses: n.Status.Addresses,
		Message: "The operator has not reported on the present spec yet. Check that it runs if this lasts.",
	}
	if n.Spec.Rollout != nil && n.Spec.Rollout.ToRevision != nil {
		s.Pinned = *n.Spec.Rollout.ToRevision
	}
	ready := condition(n, v1alpha2.ConditionReady)
	if ready != nil && ready.ObservedGeneration != n.Generation {
		ready = nil
	}
	if ready != nil {
		s.Reason, s.Message, s.Since = ready.Reason, ready.Message, ready.LastTransitionTime.UTC()
	}
	s.State = fleet.StateOf(ready, n.Status.WaitingRollout != nil, s.Suspended)
	return s
}

func replicas(n *v1alpha2.NginxOperator) int32 {
	if n.Spec.Replicas == nil {
		return 1
	}
	return *n.Spec.Replicas
}

func condition(n *v1alpha2.NginxOperator, kind string) *metav1.Condition {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// Condition is a condition of the application.
type Condition struct {
	Type    string      `json:"type"`
	Status  string      `json:"status"`
	State   fleet.State `json:"state"`
	Reason  string      `json:"reason"`
	Message string      `json:"message,omitempty"`
	Since   time.Time   `json:"since,omitzero"`
	// Outdated is true if the operator has not reported on the present spec.
	Outdated bool `json:"outdated,omitempty"`
}

func conditions(n *v1alpha2.NginxOperator) []Condition {
	all := []Condition{}
	for _, c := range n.Status.Conditions {
		all = append(all, Condition{
			Type: c.Type, Status: string(c.Status), State: fleet.ConditionState(&c), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.UTC(),
			Outdated: c.ObservedGeneration != n.Generation,
		})
	}
	return all
}

// Certificate is a certificate as the pods use it.
type Certificate struct {
	Name    string    `json:"name"`
	Secret  string    `json:"secret,omitempty"`
	Serial  string    `json:"serial,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
}

func certificates(n *v1alpha2.NginxOperator) []Certificate {
	all := []Certificate{}
	for _, declared := range n.Spec.TLS {
		c := Certificate{Name: declared.Name, Secret: declared.SecretName}
		for _, served := range n.Status.Certificates {
			if served.Name == c.Name && served.NotAfter != nil {
				c.Serial, c.Expires = served.SerialNumber, served.NotAfter.UTC()
			}
		}
		all = append(all, c)
	}
	return all
}

// Event is an event about the application.
type Event struct {
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	Note   string    `json:"note"`
	At     time.Time `json:"at,omitzero"`
	Count  int32     `json:"count,omitempty"`
}

// mostEvents is how many events are shown, the newest first.
const mostEvents = 50

func events(all []eventsv1.Event) []Event {
	shown := []Event{}
	for _, e := range all {
		at, count := cmp.Or(e.EventTime.Time, e.DeprecatedLastTimestamp.Time), int32(1)
		if e.Series != nil {
			at, count = e.Series.LastObservedTime.Time, e.Series.Count
		}
		shown = append(shown, Event{Type: e.Type, Reason: e.Reason, Note: e.Note, At: at.UTC(), Count: count})
	}
	slices.SortStableFunc(shown, func(a, b Event) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Note, b.Note))
	})
	return shown[:min(len(shown), mostEvents)]
}

// Refusal says why something is not shown, in the words of the API server.
type Refusal struct {
	What    string `json:"what"`
	Message string `json:"message"`
}

func notShown(all map[string]string) []Refusal {
	refusals := []Refusal{}
	for what, message := range all {
		refusals = append(refusals, Refusal{what, message})
	}
	slices.SortFunc(refusals, func(a, b Refusal) int { return cmp.Compare(a.What, b.What) })
	return refusals
}
