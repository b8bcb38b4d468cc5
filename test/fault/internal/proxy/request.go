package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// Request is what an operator asks of the API server.
type Request struct {
	// Verb as in RBAC: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// Resource with its subresource, such as deployments or pods/status.
	Resource        string
	Namespace, Name string
}

// String is the request for people.
func (r Request) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s %s %s", r.Verb, r.Resource, r.Name), " ")
}

// Write tells whether the request changes the state that is looked at. Events, leases and questions
// about access do not.
func (r Request) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) &&
		!slices.Contains([]string{"events", "leases", "selfsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"}, r.Resource)
}

var parser = &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// parse reads a request, and whether it is one for resources.
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
