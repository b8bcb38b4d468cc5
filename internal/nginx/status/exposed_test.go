package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/test/golden"
)

// exposedInput returns the input of a healthy application with an Ingress, a route of two Gateways and a certificate, all
// in effect in generation 3.
func exposedInput() Input {
	in := healthy()
	in.Nginx.Spec.Ingress = &v1alpha2.Ingress{Hosts: []v1alpha2.IngressHost{{}}}
	in.Nginx.Spec.HTTPRoutes = []v1alpha2.HTTPRoute{{
		Name: "main", Hostnames: []v1alpha2.Hostname{"web.example.com", "*.web.example.com"},
		ParentRefs: []v1alpha2.ParentReference{{Name: "public", Namespace: new("infra")}, {Name: "internal", SectionName: new("http"), Port: new(int32(80))}},
	}}
	in.Nginx.Spec.TLS = []v1alpha2.Certificate{{Name: "site", SecretName: "s", Certificate: &v1alpha2.IssuedCertificate{}}}
	put(in, "Ingress", "web", &networkingv1.Ingress{Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
		Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.7"}},
	}}})
	put(in, external.KindHTTPRoute, "web-main", externalObject(external.HTTPRoute(), "web-main", map[string]any{"parents": []any{
		parentStatus(public, condition("Accepted", "True", "", 3), condition("ResolvedRefs", "True", "", 3)),
		parentStatus(internal, condition("Accepted", "True", "", 3), condition("ResolvedRefs", "True", "", 3)),
	}}))
	put(in, external.KindCertificate, "web-site", certificateWith(condition("Ready", "True", "", 3)))
	return in
}

var (
	public   = map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public", "namespace": "infra"}
	internal = map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "internal", "namespace": "shop", "sectionName": "http", "port": int64(80)}
)

func put(in Input, kind, name string, object owned.Object) {
	in.State.Owned[owned.Key{Kind: kind, Name: name}] = object
}

func externalObject(kind owned.Kind, name string, status map[string]any) *unstructured.Unstructured {
	object := kind.New().(*unstructured.Unstructured)
	object.SetNamespace("shop")
	object.SetName(name)
	object.SetGeneration(3)
	object.Object["status"] = status
	return object
}

func certificateWith(conditions ...any) *unstructured.Unstructured {
	return externalObject(external.Certificate(), "web-site", map[string]any{"conditions": conditions})
}

func routeWith(parents ...any) *unstructured.Unstructured {
	return externalObject(external.HTTPRoute(), "web-main", map[string]any{"parents": parents})
}

func parentStatus(ref map[string]any, conditions ...any) any {
	return map[string]any{"parentRef": ref, "controllerName": "example.com/gateway", "conditions": conditions}
}

func condition(name, status, message string, generation int64) any {
	return map[string]any{"type": name, "status": status, "reason": "Because", "message": message, "observedGeneration": generation, "lastTransitionTime": now.Format(time.RFC3339)}
}

func TestExposed(t *testing.T) {
	good := []any{condition("Accepted", "True", "", 3), condition("ResolvedRefs", "True", "", 3)}
	tests := map[string]struct {
		change  func(*Input)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"in effect": {func(*Input) {}, yes, v1alpha2.ReasonExposed, "in effect"},
		"no address": {func(in *Input) { put(*in, "Ingress", "web", &networkingv1.Ingress{}) },
			unknown, v1alpha2.ReasonExposurePending, "has no address"},
		"no definition": {func(in *Input) {
			in.State.Unavailable = map[string]owned.Availability{external.KindHTTPRoute: owned.KindAbsent}
		}, no, v1alpha2.ReasonDefinitionNotFound, "HTTPRoute web-main is not created: the cluster has no CustomResourceDefinition httproutes.gateway.networking.k8s.io that serves v1"},
		"not read": {func(in *Input) {
			in.State.Unavailable = map[string]owned.Availability{external.KindCertificate: owned.KindUnread}
		}, unknown, v1alpha2.ReasonExposurePending, "has not read"},
		"not written": {func(in *Input) { in.Failed = []owned.Key{{Kind: external.KindHTTPRoute, Name: "web-main"}} },
			no, v1alpha2.ReasonApplyFailed, "HTTPRoute web-main could not be written"},
		"suspended": {func(in *Input) { in.Pending = []string{"Ingress"} }, unknown, v1alpha2.ReasonSuspended, "spec.suspend"},
		"missing": {func(in *Input) { delete(in.State.Owned, owned.Key{Kind: external.KindHTTPRoute, Name: "web-main"}) },
			unknown, v1alpha2.ReasonExposurePending, "HTTPRoute web-main does not exist yet"},
		"no report": {func(in *Input) { put(*in, external.KindHTTPRoute, "web-main", routeWith()) },
			unknown, v1alpha2.ReasonExposurePending, "Gateway internal, section http, port 80 has not reported"},
		"one of two Gateways": {func(in *Input) {
			put(*in, external.KindHTTPRoute, "web-main", routeWith(parentStatus(internal, good...)))
		}, unknown, v1alpha2.ReasonExposurePending, "Gateway infra/public has not reported"},
		"another listener": {func(in *Input) {
			other := map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "internal", "sectionName": "https"}
			put(*in, external.KindHTTPRoute, "web-main", routeWith(parentStatus(public, good...), parentStatus(other, good...)))
		}, unknown, v1alpha2.ReasonExposurePending, "Gateway internal"},
		"an older generation": {func(in *Input) {
			put(*in, external.KindHTTPRoute, "web-main", routeWith(parentStatus(internal, good...), parentStatus(public, condition("Accepted", "True", "", 2), condition("ResolvedRefs", "True", "", 3))))
		}, unknown, v1alpha2.ReasonExposurePending, "Gateway infra/public has not reported"},
		"not accepted": {func(in *Input) {
			put(*in, external.KindHTTPRoute, "web-main", routeWith(parentStatus(internal, good...), parentStatus(public, condition("Accepted", "False", "no\u202elistener\n", 3))))
		}, no, v1alpha2.ReasonRouteNotAccepted, "Gateway infra/public does not accept the route: Because: no\ufffdlistener; correct"},
		"a stale controller": {func(in *Input) {
			put(*in, external.KindHTTPRoute, "web-main", routeWith(parentStatus(internal, good...), parentStatus(public, condition("Accepted", "False", "", 3)), parentStatus(public, good...)))
		}, yes, v1alpha2.ReasonExposed, ""},
		"no such backend": {func(in *Input) {
			put(*in, external.KindHTTPRoute, "web-main", routeWith(parentStatus(public, good...), parentStatus(internal, condition("Accepted", "True", "", 3), condition("ResolvedRefs", "False", "no Service next.", 3))))
		}, no, v1alpha2.ReasonRouteRefsNotResolved, "cannot resolve a backend of the route: Because: no Service next; correct"},
		"an unreadable report": {func(in *Input) {
			put(*in, external.KindHTTPRoute, "web-main", externalObject(external.HTTPRoute(), "web-main", map[string]any{"parents": "none"}))
		}, unknown, v1alpha2.ReasonExposurePending, "has not reported"},
		"certificate of an older generation": {func(in *Input) {
			put(*in, external.KindCertificate, "web-site", certificateWith(condition("Ready", "True", "", 2)))
		},
			unknown, v1alpha2.ReasonExposurePending, "has not reported on its present generation"},
		"certificate being issued": {func(in *Input) {
			put(*in, external.KindCertificate, "web-site", certificateWith(condition("Ready", "False", "", 3), condition("Issuing", "True", "the Secret is not there", 3)))
		}, unknown, v1alpha2.ReasonExposurePending, "is being issued"},
		"certificate not issued": {func(in *Input) {
			put(*in, external.KindCertificate, "web-site", certificateWith(condition("Ready", "False", "", 3), condition("Issuing", "False", "the order failed at 2026-11-20T12:00:00Z", 3)))
		}, no, v1alpha2.ReasonCertificateNotIssued, "was not issued: Because: the order failed at …"},
		"certificate not ready": {func(in *Input) {
			put(*in, external.KindCertificate, "web-site", certificateWith(condition("Ready", "False", "expired", 3)))
		}, unknown, v1alpha2.ReasonExposurePending, "is not issued yet: Because: expired"},
		"two faults": {func(in *Input) {
			put(*in, "Ingress", "web", &networkingv1.Ingress{})
			put(*in, external.KindCertificate, "web-site", certificateWith(condition("Issuing", "False", "refused", 3)))
		}, no, v1alpha2.ReasonCertificateNotIssued, "Certificate web-site"},
	}
	var rendered golden.Messages
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := exposedInput()
			tt.change(&in)
			result := Compute(in)
			c := meta.FindStatusCondition(result.Status.Conditions, v1alpha2.ConditionExposed)
			rendered.Add(fmt.Sprintf("condition %s=%s (%s)", c.Type, c.Status, c.Reason), c.Message)
			if c.Status != tt.status || c.Reason != tt.reason || !strings.Contains(c.Message, tt.message) {
				t.Errorf("Exposed = %s (%s): %s", c.Status, c.Reason, c.Message)
			}
		})
	}
	rendered.Compare(t, "exposed.txt")
}

// TestReadyIgnoresExposed: Ready says that the pods serve behind the Service.
func TestReadyIgnoresExposed(t *testing.T) {
	in := exposedInput()
	in.Nginx.Spec.TLS = nil
	in.State.Unavailable = map[string]owned.Availability{external.KindHTTPRoute: owned.KindAbsent}
	in.Nginx.Status = Compute(exposedInput()).Status
	result := Compute(in)
	if !meta.IsStatusConditionTrue(result.Status.Conditions, v1alpha2.ConditionReady) {
		t.Errorf("the conditions are %+v", result.Status.Conditions)
	}
	if len(result.Events) != 1 || result.Events[0].Reason != v1alpha2.ReasonDefinitionNotFound {
		t.Errorf("the events are %+v", result.Events)
	}
	in.Nginx.Spec.Ingress, in.Nginx.Spec.HTTPRoutes = nil, nil
	if c := meta.FindStatusCondition(Compute(in).Status.Conditions, v1alpha2.ConditionExposed); c != nil {
		t.Errorf("nothing is declared, and Exposed is %+v", c)
	}
}

func TestExposedAddresses(t *testing.T) {
	in := exposedInput()
	want := []v1alpha2.Address{{Type: v1alpha2.HostnameType, Value: "web.example.com"}, {Type: v1alpha2.IPAddressType, Value: "192.0.2.7"}}
	if diff := cmp.Diff(want, Compute(in).Status.Addresses); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	put(in, external.KindHTTPRoute, "web-main", routeWith())
	if diff := cmp.Diff(want[1:], Compute(in).Status.Addresses); diff != "" {
		t.Errorf("not accepted: -want +got:\n%s", diff)
	}
}
