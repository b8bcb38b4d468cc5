package status

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/messages"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
)

// mostQuoted is the maximum length of another controller's message in a condition, in bytes.
const mostQuoted = 300

// exposure is a declared object that exposes the application, and the verdict on it alone.
type exposure struct {
	kind owned.Kind
	name string
	// evaluate says what the object's controller reports of the live object.
	evaluate func(live owned.Object) *verdict
}

// isExposed reports whether the spec declares an object that exposes the application.
func isExposed(spec *v1alpha2.NginxOperatorSpec) bool {
	return spec.Ingress != nil || len(spec.HTTPRoutes) > 0 ||
		slices.ContainsFunc(spec.TLS, func(c v1alpha2.Certificate) bool { return c.Certificate != nil })
}

// exposed is True when every declared object is in effect. Otherwise it has the reason of the first that is not, False
// before Unknown, and the messages of all that are as bad.
func exposed(v *view) verdict {
	var all []verdict
	for _, e := range v.exposures() {
		all = append(all, *v.exposureVerdict(e))
	}
	for _, bad := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown} {
		var reasons, said []string
		for _, found := range all {
			if found.Status == bad {
				reasons, said = append(reasons, found.Reason), append(said, found.Message)
			}
		}
		if len(said) > 0 {
			return verdict{Status: bad, Reason: reasons[0], Message: strings.Join(said, "; ")}
		}
	}
	return *trueVerdict(v1alpha2.ReasonExposed, "Every declared Ingress, HTTPRoute and Certificate is in effect")
}

// exposures returns the declared objects.
func (v *view) exposures() []exposure {
	spec, name := &v.in.Nginx.Spec, v.in.Nginx.Name
	var all []exposure
	if spec.Ingress != nil {
		all = append(all, exposure{owned.Kind{Name: "Ingress"}, name, ingressVerdict})
	}
	for i := range spec.HTTPRoutes {
		route := &spec.HTTPRoutes[i]
		all = append(all, exposure{external.HTTPRoute(), naming.HTTPRoute(name, route.Name), func(live owned.Object) *verdict { return routeVerdict(route, live) }})
	}
	for _, c := range v.sortedTLS() {
		if c.Certificate != nil {
			all = append(all, exposure{external.Certificate(), naming.Certificate(name, c.Name), certificateVerdict})
		}
	}
	return all
}

// exposureVerdict returns the verdict on one object.
func (v *view) exposureVerdict(e exposure) *verdict {
	key := owned.Key{Kind: e.kind.Name, Name: e.name}
	live := v.in.State.Owned[key]
	label := e.kind.Name + " " + e.name
	availability, unavailable := v.in.State.Unavailable[e.kind.Name]
	switch {
	case unavailable && availability == owned.KindAbsent:
		return falseVerdict(v1alpha2.ReasonDefinitionNotFound, fmt.Sprintf("%s is not created: the cluster has no CustomResourceDefinition %s that serves %s: install it; the operator then creates the object",
			label, e.kind.Definition, e.kind.GVK.Version))
	case unavailable:
		return unknownVerdict(v1alpha2.ReasonExposurePending, fmt.Sprintf("%s: the operator has not read the objects of this kind yet; if this stays, its log has the error", label))
	case slices.Contains(v.in.Failed, key):
		return falseVerdict(v1alpha2.ReasonApplyFailed, label+" could not be written: see the conditions Accepted and UpToDate")
	case slices.Contains(v.in.Pending, e.kind.Name):
		return unknownVerdict(v1alpha2.ReasonSuspended, fmt.Sprintf("%s: spec.suspend prevents changes", label))
	case live == nil || live.GetDeletionTimestamp() != nil:
		return unknownVerdict(v1alpha2.ReasonExposurePending, label+" does not exist yet")
	}
	return e.evaluate(live)
}

// ingressVerdict has only an address to go by: the status of an Ingress says neither which generation it is about, nor
// what is wrong.
func ingressVerdict(live owned.Object) *verdict {
	if ingress, ok := live.(*networkingv1.Ingress); ok && len(ingress.Status.LoadBalancer.Ingress) > 0 {
		return trueVerdict(v1alpha2.ReasonExposed, "")
	}
	return unknownVerdict(v1alpha2.ReasonExposurePending, fmt.Sprintf(
		"Ingress %[1]s has no address: check that a controller runs for its class (ingress.className); its events may say why (kubectl describe ingress %[1]s)", live.GetName()))
}

// routeVerdict requires that every declared parent has accepted the present generation of a route, and found what it
// refers to.
func routeVerdict(route *v1alpha2.HTTPRoute, live owned.Object) *verdict {
	reported := external.ParentsOf(live)
	var pending *verdict
	for _, declared := range route.ParentRefs {
		found := parentVerdict(external.ParentRefOf(declared), reported, live)
		switch found.Status {
		case metav1.ConditionFalse:
			return found
		case metav1.ConditionUnknown:
			pending = found
		case metav1.ConditionTrue:
		}
	}
	if pending != nil {
		return pending
	}
	return trueVerdict(v1alpha2.ReasonExposed, "")
}

// parentVerdict looks at what the controllers say of a parent. One that accepts the route decides: an entry of a
// controller that was removed stays.
func parentVerdict(parent external.ParentRef, reported []external.ParentStatus, live owned.Object) *verdict {
	label := fmt.Sprintf("HTTPRoute %s: %s", live.GetName(), describeParent(parent))
	worst := unknownVerdict(v1alpha2.ReasonExposurePending, fmt.Sprintf(
		"%s has not reported on the present generation of the route: check that it exists, and that a controller runs for its class (kubectl describe httproute %s)", label, live.GetName()))
	for _, r := range reported {
		if !sameParent(r.ParentRef, parent, live.GetNamespace()) {
			continue
		}
		accepted := current(r.Conditions, external.RouteAccepted, live.GetGeneration())
		resolved := current(r.Conditions, external.RouteResolvedRefs, live.GetGeneration())
		switch {
		case isTrue(accepted) && isTrue(resolved):
			return trueVerdict(v1alpha2.ReasonExposed, "")
		case isFalse(accepted):
			worst = falseVerdict(v1alpha2.ReasonRouteNotAccepted, fmt.Sprintf("%s does not accept the route: %s; correct spec.httpRoutes or the parent", label, quote(accepted)))
		case isFalse(resolved) && worst.Status != metav1.ConditionFalse:
			worst = falseVerdict(v1alpha2.ReasonRouteRefsNotResolved, fmt.Sprintf("%s cannot resolve a backend of the route: %s; correct the backends in spec.httpRoutes", label, quote(resolved)))
		}
	}
	return worst
}

// sameParent reports whether a controller's reference is the declared one. Both have their defaults, except for the
// namespace.
func sameParent(reported, declared external.ParentRef, namespace string) bool {
	return reported.Group == declared.Group && reported.Kind == declared.Kind && reported.Name == declared.Name &&
		valueOr(reported.Namespace, namespace) == valueOr(declared.Namespace, namespace) &&
		valueOr(reported.SectionName, "") == valueOr(declared.SectionName, "") &&
		valueOr(reported.Port, 0) == valueOr(declared.Port, 0)
}

func valueOr[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func describeParent(p external.ParentRef) string {
	text := p.Kind + " " + p.Name
	if p.Namespace != nil {
		text = p.Kind + " " + *p.Namespace + "/" + p.Name
	}
	if p.SectionName != nil {
		text += ", section " + *p.SectionName
	}
	if p.Port != nil {
		text += fmt.Sprintf(", port %d", *p.Port)
	}
	return text
}

// certificateVerdict requires that cert-manager has issued the present generation of a Certificate.
func certificateVerdict(live owned.Object) *verdict {
	conditions := external.CertificateConditions(live)
	ready := current(conditions, external.CertificateReady, live.GetGeneration())
	issuing := current(conditions, external.CertificateIssuing, live.GetGeneration())
	described := fmt.Sprintf("(kubectl describe certificate %s)", live.GetName())
	switch {
	case isTrue(ready):
		return trueVerdict(v1alpha2.ReasonExposed, "")
	case isTrue(issuing):
		return unknownVerdict(v1alpha2.ReasonExposurePending, fmt.Sprintf("Certificate %s is being issued: %s; if this takes long, check that its issuer exists %s", live.GetName(), quote(issuing), described))
	case isFalse(issuing):
		return falseVerdict(v1alpha2.ReasonCertificateNotIssued, fmt.Sprintf("Certificate %s was not issued: %s; correct the issuer or spec.tls[].certificate %s", live.GetName(), quote(issuing), described))
	case isFalse(ready):
		// cert-manager says that it is not ready before it says that it issues it.
		return unknownVerdict(v1alpha2.ReasonExposurePending, fmt.Sprintf("Certificate %s is not issued yet: %s %s", live.GetName(), quote(ready), described))
	}
	return unknownVerdict(v1alpha2.ReasonExposurePending, fmt.Sprintf("Certificate %s: cert-manager has not reported on its present generation: check that it runs %s", live.GetName(), described))
}

// current returns a condition of the present generation; nil if there is none.
func current(conditions []metav1.Condition, name string, generation int64) *metav1.Condition {
	i := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Type == name && c.ObservedGeneration == generation })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func isFalse(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionFalse }

// quote returns the reason and the message of another controller's condition, without what varies from attempt to
// attempt.
func quote(c *metav1.Condition) string {
	text := c.Reason
	if c.Message != "" {
		text += ": " + strings.TrimRight(strings.TrimSpace(c.Message), ".")
	}
	return messages.Shorten(varying.ReplaceAllString(text, "…"), mostQuoted)
}

// exposedAddresses returns the addresses of the Ingress, and the hostnames of routes that are accepted. A hostname with
// "*" is no address.
func (v *view) exposedAddresses() []v1alpha2.Address {
	var all []v1alpha2.Address
	if ingress, ok := v.in.State.Owned[owned.Key{Kind: "Ingress", Name: v.in.Nginx.Name}].(*networkingv1.Ingress); ok && v.in.Nginx.Spec.Ingress != nil {
		for _, i := range ingress.Status.LoadBalancer.Ingress {
			all = append(all, addressesOf(i.IP, i.Hostname)...)
		}
	}
	for i := range v.in.Nginx.Spec.HTTPRoutes {
		route := &v.in.Nginx.Spec.HTTPRoutes[i]
		live := v.in.State.Owned[owned.Key{Kind: external.KindHTTPRoute, Name: naming.HTTPRoute(v.in.Nginx.Name, route.Name)}]
		if live == nil || routeVerdict(route, live).Status != metav1.ConditionTrue {
			continue
		}
		for _, name := range route.Hostnames {
			if !strings.HasPrefix(string(name), "*") {
				all = append(all, v1alpha2.Address{Type: v1alpha2.HostnameType, Value: string(name)})
			}
		}
	}
	return sortAddresses(all)
}
