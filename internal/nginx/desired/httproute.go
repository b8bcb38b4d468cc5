package desired

import (
	"cmp"

	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
)

// httpRoutes attach the Service to Gateways.
func httpRoutes(in *input) ([]object, error) {
	var routes []object
	for i := range in.app.Spec.HTTPRoutes {
		want := &in.app.Spec.HTTPRoutes[i]
		rules, err := in.routeRules(want.Rules)
		if err != nil {
			return nil, err
		}
		spec := external.HTTPRouteSpec{Hostnames: hostnames(want.Hostnames), Rules: rules}
		for _, p := range want.ParentRefs {
			spec.ParentRefs = append(spec.ParentRefs, external.ParentRefOf(p))
		}
		meta := in.meta(naming.HTTPRoute(in.app.Name, want.Name)).WithAnnotations(want.Annotations)
		addLabels(meta, want.Labels)
		routes = append(routes, newObject(external.HTTPRoute(), meta, spec))
	}
	return routes, nil
}

// declaredRoutes returns the names of the HTTPRoutes that an application declares.
func declaredRoutes(app *application.Application) []string {
	var names []string
	for i := range app.Spec.HTTPRoutes {
		names = append(names, naming.HTTPRoute(app.Name, app.Spec.HTTPRoutes[i].Name))
	}
	return names
}

// routeRules returns the rules of a route; one for all requests by default.
func (in *input) routeRules(want []v1alpha2.HTTPRouteRule) ([]external.HTTPRouteRule, error) {
	if len(want) == 0 {
		want = []v1alpha2.HTTPRouteRule{{}}
	}
	var rules []external.HTTPRouteRule
	for _, w := range want {
		rule := external.HTTPRouteRule{Matches: routeMatches(w.Paths)}
		backends := w.Backends
		if len(backends) == 0 {
			backends = []v1alpha2.HTTPRouteBackend{{}}
		}
		for _, b := range backends {
			ref, err := in.backendRef(b)
			if err != nil {
				return nil, err
			}
			rule.BackendRefs = append(rule.BackendRefs, ref)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func routeMatches(paths []v1alpha2.HTTPPathMatch) []external.HTTPRouteMatch {
	if len(paths) == 0 {
		paths = []v1alpha2.HTTPPathMatch{{Value: "/"}}
	}
	var matches []external.HTTPRouteMatch
	for _, p := range paths {
		matches = append(matches, external.HTTPRouteMatch{Path: external.HTTPPathMatch{Type: cmp.Or(p.Type, "PathPrefix"), Value: p.Value}})
	}
	return matches
}

// backendRef returns the reference to a Service of the namespace, the application's own by default.
func (in *input) backendRef(b v1alpha2.HTTPRouteBackend) (external.BackendRef, error) {
	ref := external.BackendRef{Kind: "Service", Weight: ptr.Deref(b.Weight, 1), Port: ptr.Deref(b.Port, 0)}
	if b.Service != nil {
		ref.Name = *b.Service
		return ref, nil
	}
	port, err := in.exposedPort(func(p v1alpha2.Port) bool { return p.Port == ref.Port })
	ref.Name, ref.Port = naming.Service(in.app.Name), port.Port
	return ref, err
}
