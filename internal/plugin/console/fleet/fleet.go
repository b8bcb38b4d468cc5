// Package fleet has the rows of the console's list of applications. It is pure.
package fleet

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/kube/messages"
)

// maxMessage bounds the message of a row, which is one line.
const maxMessage = 240

// Application holds the fields of an NginxOperator that a row needs.
type Application struct {
	Metadata struct {
		Namespace         string      `json:"namespace"`
		Name              string      `json:"name"`
		Generation        int64       `json:"generation"`
		CreationTimestamp metav1.Time `json:"creationTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int32 `json:"replicas"`
		Suspend  bool   `json:"suspend"`
		Rollout  struct {
			ToRevision int64 `json:"toRevision"`
		} `json:"rollout"`
	} `json:"spec"`
	Status Status `json:"status"`
}

// Status holds the fields of the status that a row needs.
type Status struct {
	Conditions    []metav1.Condition `json:"conditions"`
	ReadyReplicas int32              `json:"readyReplicas"`
	Restarts      int32              `json:"restarts"`
	Image         string             `json:"image"`
	Revision      int64              `json:"revision"`
	Config        struct {
		Revision       string `json:"revision"`
		LoadedReplicas int32  `json:"loadedReplicas"`
	} `json:"config"`
	Certificates []struct {
		NotAfter *metav1.Time `json:"notAfter"`
	} `json:"certificates"`
	WaitingRollout *struct {
		Gates []string `json:"gates"`
	} `json:"waitingRollout"`
}

// Key identifies an application.
func Key(a *Application) string { return a.Metadata.Namespace + "/" + a.Metadata.Name }

// Row is what the page shows of an application.
type Row struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	State     State     `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Message   string    `json:"message,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	Created   time.Time `json:"created"`
	// Replicas are the declared pods, and Ready those that serve.
	Replicas int32  `json:"replicas"`
	Ready    int32  `json:"ready"`
	Restarts int32  `json:"restarts,omitempty"`
	Image    string `json:"image,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	Config   string `json:"config,omitempty"`
	Loaded   int32  `json:"loaded"`
	// Expires is when the first certificate expires.
	Expires time.Time `json:"expires,omitzero"`
	// Gates are the closed gates of the rollout that waits.
	Gates []string `json:"gates,omitempty"`
	// Pinned is the revision that the application is rolled back to.
	Pinned int64 `json:"pinned,omitempty"`
}

// Of returns the row of an application.
func Of(a *Application) Row {
	s := &a.Status
	row := Row{
		Namespace: a.Metadata.Namespace, Name: a.Metadata.Name, State: StateOf(reported(a), s.WaitingRollout != nil, a.Spec.Suspend), Created: a.Metadata.CreationTimestamp.UTC(),
		Replicas: replicas(a.Spec.Replicas), Ready: s.ReadyReplicas, Restarts: s.Restarts,
		Image: s.Image, Revision: s.Revision, Config: s.Config.Revision, Loaded: s.Config.LoadedReplicas, Pinned: a.Spec.Rollout.ToRevision,
	}
	if c := reported(a); c != nil {
		row.Since = c.LastTransitionTime.UTC()
		if c.Status != metav1.ConditionTrue {
			row.Reason, row.Message = c.Reason, messages.Shorten(c.Message, maxMessage)
		}
	}
	if s.WaitingRollout != nil {
		row.Gates = s.WaitingRollout.Gates
	}
	for _, c := range s.Certificates {
		if c.NotAfter != nil && (row.Expires.IsZero() || c.NotAfter.Time.Before(row.Expires)) {
			row.Expires = c.NotAfter.UTC()
		}
	}
	return row
}

func replicas(declared *int32) int32 {
	if declared == nil {
		return 1
	}
	return *declared
}

// reported returns the condition Ready of the present spec; nil if the operator has not reported on it.
func reported(a *Application) *metav1.Condition {
	c := meta.FindStatusCondition(a.Status.Conditions, "Ready")
	if c == nil || c.ObservedGeneration != a.Metadata.Generation {
		return nil
	}
	return c
}
