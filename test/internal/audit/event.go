// Package audit reads an API server's audit log: who asked for what, and how it
// was answered (https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/).
package audit

import (
	"net/url"
	"time"
)

// Event is a request as the audit log tells it: the fields that are looked at.
type Event struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       User   `json:"user"`
	// Object is nil for a request that is about no resource, such as discovery.
	Object   *Object  `json:"objectRef"`
	Response Response `json:"responseStatus"`
	// Received and Done are of the API server's clock.
	Received time.Time `json:"requestReceivedTimestamp"`
	Done     time.Time `json:"stageTimestamp"`
	// Annotations are remarks of the authorizer and of admission.
	Annotations map[string]string `json:"annotations"`
}

// User asked for it.
type User struct {
	Username string              `json:"username"`
	Extra    map[string][]string `json:"extra"`
}

// Object is what a request is about.
type Object struct {
	Group       string `json:"apiGroup"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// Response is the answer's status.
type Response struct {
	Code    int     `json:"code"`
	Message string  `json:"message"`
	Details Details `json:"details"`
}

// Details say more about a refusal.
type Details struct {
	Causes []Cause `json:"causes"`
}

// Cause is one of the reasons for a refusal.
type Cause struct {
	Reason string `json:"reason"`
}

// Refused tells whether a refusal has a cause.
func (r Response) Refused(cause string) bool {
	for _, c := range r.Details.Causes {
		if c.Reason == cause {
			return true
		}
	}
	return false
}

// podNameKey is what a token that is bound to a pod tells about its bearer.
const podNameKey = "authentication.kubernetes.io/pod-name"

// Pod is the name of the pod that asked, empty when it was none.
func (e Event) Pod() string {
	if names := e.User.Extra[podNameKey]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// Resource is the resource with its subresource, empty when the request is about none.
func (e Event) Resource() string {
	switch {
	case e.Object == nil:
		return ""
	case e.Object.Subresource == "":
		return e.Object.Resource
	}
	return e.Object.Resource + "/" + e.Object.Subresource
}

// Lists tells whether the request reads a whole collection. A watch may do that
// before it goes on to the changes
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists).
func (e Event) Lists() bool {
	if e.Verb == "list" {
		return true
	}
	if e.Verb != "watch" {
		return false
	}
	uri, err := url.Parse(e.RequestURI)
	return err == nil && uri.Query().Get("sendInitialEvents") == "true"
}
