// Package external has the parts of other projects' kinds that the operator writes and reads: HTTPRoutes of the Gateway
// API, and Certificates of cert-manager. The operator depends on neither project. It is pure.
package external

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
)

// The Gateway API (https://gateway-api.sigs.k8s.io/reference/spec/).
const (
	KindHTTPRoute = "HTTPRoute"
	GatewayGroup  = "gateway.networking.k8s.io"
	KindGateway   = "Gateway"
	// RouteAccepted and RouteResolvedRefs are the conditions that a parent reports of a route.
	RouteAccepted     = "Accepted"
	RouteResolvedRefs = "ResolvedRefs"
)

// HTTPRoute is the kind of HTTPRoutes.
func HTTPRoute() owned.Kind {
	return owned.NewOptionalKind(schema.GroupVersion{Group: GatewayGroup, Version: "v1"}, KindHTTPRoute, "httproutes")
}

// HTTPRouteSpec is the spec of an HTTPRoute. Every field has the value that the API server would give it by default, so
// that a whole list can be compared with what is stored.
type HTTPRouteSpec struct {
	ParentRefs []ParentRef     `json:"parentRefs"`
	Hostnames  []string        `json:"hostnames,omitempty"`
	Rules      []HTTPRouteRule `json:"rules"`
}

// ParentRef names a Gateway, or one of its listeners.
type ParentRef struct {
	Group       string  `json:"group"`
	Kind        string  `json:"kind"`
	Namespace   *string `json:"namespace,omitempty"`
	Name        string  `json:"name"`
	SectionName *string `json:"sectionName,omitempty"`
	Port        *int32  `json:"port,omitempty"`
}

// ParentRefOf returns a declared reference with its defaults.
func ParentRefOf(p v1alpha2.ParentReference) ParentRef {
	return ParentRef{
		Group: ptr.Deref(p.Group, GatewayGroup), Kind: ptr.Deref(p.Kind, KindGateway),
		Namespace: p.Namespace, Name: p.Name, SectionName: p.SectionName, Port: p.Port,
	}
}

// HTTPRouteRule routes requests to backends.
type HTTPRouteRule struct {
	Matches     []HTTPRouteMatch `json:"matches"`
	BackendRefs []BackendRef     `json:"backendRefs"`
}

// HTTPRouteMatch matches requests.
type HTTPRouteMatch struct {
	Path HTTPPathMatch `json:"path"`
}

// HTTPPathMatch matches the path of a request.
type HTTPPathMatch struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// BackendRef is a Service that gets a share of the requests.
type BackendRef struct {
	Group  string `json:"group"`
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Port   int32  `json:"port"`
	Weight int32  `json:"weight"`
}

// ParentStatus is what a controller says of a route and one of its parents.
type ParentStatus struct {
	ParentRef      ParentRef          `json:"parentRef"`
	ControllerName string             `json:"controllerName"`
	Conditions     []metav1.Condition `json:"conditions"`
}

// ParentsOf returns what the parents of a live HTTPRoute say of it; none if that cannot be read.
func ParentsOf(route owned.Object) []ParentStatus {
	var found struct {
		Status struct {
			Parents []ParentStatus `json:"parents"`
		} `json:"status"`
	}
	if !read(route, &found) {
		return nil
	}
	return found.Status.Parents
}

// read converts the fields of an unstructured object that a type has, and reports whether they could be read.
func read(object owned.Object, into any) bool {
	live, ok := object.(*unstructured.Unstructured)
	return ok && runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, into) == nil
}
