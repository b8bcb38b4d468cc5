// Package audit reads an API server's audit log: who sent which requests, and the responses
// (https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/).
package audit

import (
	"net/url"
	"time"
)

// Event is a request in the audit log, with only the fields that this package uses.
type Event struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       User   `json:"user"`
	// Object is nil for a request that has no resource, such as discovery.
	Object   *Object  `json:"objectRef"`
	Response Response `json:"responseStatus"`
	// Received and Done are times of the API server's clock.
	Received time.Time `json:"requestReceivedTimestamp"`
	Done     time.Time `json:"stageTimestamp"`
	// Annotations come from the authorizer and from admission.
	Annotations map[string]string `json:"annotations"`
}

// User is the client that sent the request.
type User struct {
	Username string              `json:"username"`
	Extra    map[string][]string `json:"extra"`
}

// Object is the object of a request.
type Object struct {
	Group       string `json:"apiGroup"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
}

// Response is the status of the response.
type Response struct {
	Code    int     `json:"code"`
	Message string  `json:"message"`
	Details Details `json:"details"`
}

// Details hold the causes of a rejection.
type Details struct {
	Causes []Cause `json:"causes"`
}

// Cause is one reason for a rejection.
type Cause struct {
	Reason string `json:"reason"`
}

// Refused reports whether the request was rejected for a cause.
func (r Response) Refused(cause string) bool {
	for _, c := range r.Details.Causes {
		if c.Reason == cause {
			return true
		}
	}
	return false
}

// podNameKey is the key under which a token that is bound to a pod names that pod.
const podNameKey = "authentication.kubernetes.io/pod-name"

// Pod returns the name of the pod that sent the request, or an empty string if it was not a pod.
func (e Event) Pod() string {
	if names := e.User.Extra[podNameKey]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// Resource returns the resource with its subresource, or an empty string if the request has no
// resource.
func (e Event) Resource() string {
	switch {
	case e.Object == nil:
		return ""
	case e.Object.Subresource == "":
		return e.Object.Resource
	}
	return e.Object.Resource + "/" + e.Object.Subresource
}

// Lists reports whether the request reads a whole collection. A watch may do that before it sends
// the changes (https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists).
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
