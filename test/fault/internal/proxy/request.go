package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Request is an operator's request to the API server.
type Request struct {
	// Verb is a verb of RBAC: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Resource includes the subresource, such as deployments or pods/status.
	Resource        string
	Namespace, Name string
}

// String returns the request in readable form.
func (r Request) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s %s", r.Verb, r.Resource, r.Name), " ")
}

// Write reports whether the request changes the state that is compared. Events, leases and access
// reviews do not.
func (r Request) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) &&
		!slices.Contains([]string{"events", "leases", "selfsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"}, r.Resource)
}

var parser = &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// parse returns the request, and reports whether it is for a resource.
func parse(r *http.Request) (Request, bool) {
	info, err := parser.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest {
		return Request{}, false
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	return Request{Verb: info.Verb, Resource: resource, Namespace: info.Namespace, Name: info.Name}, true
}
