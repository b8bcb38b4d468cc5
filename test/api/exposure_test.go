package api

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/external"
	crds "example.com/nginx-operator/test/external"
)

// TestIngress: the Ingress exists while the spec declares one, Exposed follows its address, and what others set stays.
func TestIngress(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Ingress: &v1alpha2.Ingress{
		ClassName:   new("public"),
		Annotations: map[string]string{"example.com/a": "b"},
		Hosts:       []v1alpha2.IngressHost{{Host: new(v1alpha2.Hostname("web.example.com"))}},
	}})
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionUnknown, v1alpha2.ReasonExposurePending)
	ingress := ownedObject(t, nginx, "Ingress").(*networkingv1.Ingress)
	path := ingress.Spec.Rules[0].HTTP.Paths[0]
	if ingress.Spec.Rules[0].Host != "web.example.com" || path.Path != "/" || path.Backend.Service.Name != "web" || path.Backend.Service.Port.Name != "http" {
		t.Errorf("the rules are %+v", ingress.Spec.Rules)
	}
	ingress.Annotations["example.com/foreign"] = "kept"
	must(t, kube.Update(t.Context(), ingress))
	ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.9"}}
	must(t, kube.Status().Update(t.Context(), ingress))
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionTrue, v1alpha2.ReasonExposed)
	waitAddresses(t, nginx,
		v1alpha2.Address{Type: v1alpha2.HostnameType, Value: "web." + nginx.Namespace + ".svc"},
		v1alpha2.Address{Type: v1alpha2.IPAddressType, Value: "192.0.2.9"})
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Ingress.Annotations = nil })
	eventually(t, "the annotation is removed", func() error {
		ingress = ownedObject(t, nginx, "Ingress").(*networkingv1.Ingress)
		if _, there := ingress.Annotations["example.com/a"]; there || ingress.Annotations["example.com/foreign"] != "kept" {
			return fmt.Errorf("the annotations are %v", ingress.Annotations)
		}
		return nil
	})
	wantNoWrites(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Ingress = nil })
	eventually(t, "the Ingress and the condition are gone", func() error {
		must(t, get(t, nginx))
		if ownedObject(t, nginx, "Ingress") != nil || meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionExposed) != nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
}

// TestOptionalKinds covers a kind from before its definition is installed until after the definition is deleted.
func TestOptionalKinds(t *testing.T) {
	namespace := newNamespace(t)
	spec := routed("public")
	spec.TLS = []v1alpha2.Certificate{{Name: "site", SecretName: "site-tls", Certificate: &v1alpha2.IssuedCertificate{
		IssuerRef: v1alpha2.IssuerReference{Name: "ca"}, DNSNames: []v1alpha2.Hostname{"web.example.com"},
	}}}
	nginx := create(t, namespace, "web", spec)
	c := waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonDefinitionNotFound)
	for _, want := range []string{"HTTPRoute web-main", "httproutes.gateway.networking.k8s.io", "Certificate web-site", "certificates.cert-manager.io"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message lacks %q: %s", want, c.Message)
		}
	}
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	if ownedObject(t, nginx, "Deployment") == nil {
		t.Error("the absent kinds hold the Deployment back")
	}
	settled(t)

	install(t, crds.HTTPRoutes)
	install(t, crds.Certificates)
	route := waitExternal(t, namespace, external.HTTPRoute(), "web-main")
	certificate := waitExternal(t, namespace, external.Certificate(), "web-site")
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionUnknown, v1alpha2.ReasonExposurePending)
	wantNoWrites(t, nginx)
	t.Run("conditions", func(t *testing.T) { followsParents(t, nginx, route, certificate) })
	t.Run("drift", func(t *testing.T) { foreignFieldsOfRoute(t, nginx, route) })
	t.Run("restart", func(t *testing.T) {
		settled(t)
		running.stop()
		running = startOperator()
		waitWoken(t, newNamespace(t))
		if written := running.writtenIn(namespace); len(written) > 0 {
			t.Errorf("the restarted operator wrote %q", written)
		}
	})
	t.Run("large", func(t *testing.T) { largeRoute(t, nginx, route) })
	t.Run("conflict", conflictingRoute)
	t.Run("removed from the spec", func(t *testing.T) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.HTTPRoutes, s.TLS = nil, nil })
		waitGone(t, route)
		waitGone(t, certificate)
	})
	t.Run("definition deleted", func(t *testing.T) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.HTTPRoutes = routed("public").HTTPRoutes })
		waitExternal(t, namespace, external.HTTPRoute(), "web-main")
		uninstall(t, crds.HTTPRoutes)
		waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonDefinitionNotFound)
		settled(t)
		install(t, crds.HTTPRoutes)
		waitExternal(t, namespace, external.HTTPRoute(), "web-main")
	})
	uninstall(t, crds.HTTPRoutes)
	uninstall(t, crds.Certificates)
}

func routed(gateway string) v1alpha2.NginxOperatorSpec {
	return v1alpha2.NginxOperatorSpec{HTTPRoutes: []v1alpha2.HTTPRoute{{
		Name: "main", Hostnames: []v1alpha2.Hostname{"web.example.com", "*.web.example.com"},
		ParentRefs: []v1alpha2.ParentReference{{Name: gateway, SectionName: new("https")}},
	}}}
}

// followsParents: Exposed is True when the parent has accepted this generation of the route, and cert-manager has issued
// this generation of the certificate.
func followsParents(t *testing.T, nginx *v1alpha2.NginxOperator, route, certificate *unstructured.Unstructured) {
	report(t, certificate, func(generation int64) map[string]any {
		return map[string]any{"conditions": []any{condition("Ready", "True", "Ready", "issued", generation)}}
	})
	report(t, route, func(generation int64) map[string]any {
		return parents(condition("Accepted", "False", "NoMatchingListenerHostname", "no listener\nmatches", generation))
	})
	c := waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonRouteNotAccepted)
	if want := "Gateway public, section https does not accept the route: NoMatchingListenerHostname: no listener matches"; !strings.Contains(c.Message, want) {
		t.Errorf("the message lacks %q: %s", want, c.Message)
	}
	accept := func(generation int64) map[string]any {
		return parents(condition("Accepted", "True", "Accepted", "", generation), condition("ResolvedRefs", "True", "ResolvedRefs", "", generation))
	}
	report(t, route, accept)
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionTrue, v1alpha2.ReasonExposed)
	waitAddresses(t, nginx,
		v1alpha2.Address{Type: v1alpha2.HostnameType, Value: "web." + nginx.Namespace + ".svc"},
		v1alpha2.Address{Type: v1alpha2.HostnameType, Value: "web.example.com"})
	// The acceptance of an older generation does not count.
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.HTTPRoutes[0].Hostnames = []v1alpha2.Hostname{"shop.example.com"}
	})
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionUnknown, v1alpha2.ReasonExposurePending)
	waitAddresses(t, nginx, v1alpha2.Address{Type: v1alpha2.HostnameType, Value: "web." + nginx.Namespace + ".svc"})
	report(t, route, accept)
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionTrue, v1alpha2.ReasonExposed)
	report(t, certificate, func(generation int64) map[string]any {
		return map[string]any{"conditions": []any{condition("Ready", "False", "DoesNotExist", "the Secret is not there", generation)}}
	})
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionUnknown, v1alpha2.ReasonExposurePending)
	report(t, certificate, func(generation int64) map[string]any {
		return map[string]any{"conditions": []any{
			condition("Ready", "False", "DoesNotExist", "the Secret is not there", generation),
			condition("Issuing", "False", "Failed", "the issuer refused", generation),
		}}
	})
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonCertificateNotIssued)
}

// foreignFieldsOfRoute: fields of others stay, and a changed rule is corrected.
func foreignFieldsOfRoute(t *testing.T, nginx *v1alpha2.NginxOperator, route *unstructured.Unstructured) {
	must(t, get(t, route))
	route.SetAnnotations(merged(route.GetAnnotations(), "example.com/foreign", "kept"))
	must(t, unstructured.SetNestedSlice(route.Object, []any{map[string]any{"backendRefs": []any{map[string]any{"name": "other", "port": int64(80)}}}}, "spec", "rules"))
	must(t, kube.Update(t.Context(), route))
	eventually(t, "the rule is back", func() error {
		must(t, get(t, route))
		rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
		backend := rules[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)
		return same(backend["name"], any("web"))
	})
	if err := same(route.GetAnnotations()["example.com/foreign"], "kept"); err != nil {
		t.Error(err)
	}
	// The route follows the Service.
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.HTTPRoutes[0].Rules = []v1alpha2.HTTPRouteRule{{Backends: []v1alpha2.HTTPRouteBackend{
			{Weight: new(int32(0))}, {Service: new("next"), Port: new(int32(8080)), Weight: new(int32(10))},
		}}}
	})
	wantNoWrites(t, nginx)
	must(t, kube.Delete(t.Context(), route))
	waitExternal(t, nginx.Namespace, external.HTTPRoute(), "web-main")
}

// conflictingRoute: a route of that name that belongs to another owner is left alone, and reported.
func conflictingRoute(t *testing.T) {
	namespace := newNamespace(t)
	foreign := external.HTTPRoute().New().(*unstructured.Unstructured)
	foreign.SetNamespace(namespace)
	foreign.SetName("web-main")
	foreign.Object["spec"] = map[string]any{"hostnames": []any{"foreign.example.com"}}
	must(t, kube.Create(t.Context(), foreign))
	nginx := create(t, namespace, "web", routed("public"))
	c := waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonNameConflict)
	if !strings.Contains(c.Message, "HTTPRoute web-main") {
		t.Errorf("the message is %s", c.Message)
	}
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonApplyFailed)
	before := foreign.GetResourceVersion()
	must(t, get(t, foreign))
	if err := same(foreign.GetResourceVersion(), before); err != nil {
		t.Errorf("the foreign route was written: %v", err)
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.HTTPRoutes = nil })
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	must(t, get(t, foreign))
}

func merged(annotations map[string]string, key, value string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	return annotations
}

// largeRoute: an HTTPRoute that is too large for the cache is corrected like others, and is not written again and again.
func largeRoute(t *testing.T, nginx *v1alpha2.NginxOperator, route *unstructured.Unstructured) {
	t.Helper()
	for _, annotation := range []any{strings.Repeat("x", 255<<10), nil} {
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{"example.com/large": annotation}},
			"spec":     map[string]any{"hostnames": []string{"theirs.example.com"}},
		})
		must(t, err)
		must(t, kube.Patch(t.Context(), route, client.RawPatch(types.MergePatchType, patch)))
		eventually(t, fmt.Sprintf("the route is corrected, large: %t", annotation != nil), func() error {
			must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(route), route))
			if names, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames"); slices.Contains(names, "theirs.example.com") {
				return fmt.Errorf("the hostnames are %v", names)
			}
			return nil
		})
		wantNoWrites(t, nginx)
	}
}

func parents(conditions ...any) map[string]any {
	return map[string]any{"parents": []any{map[string]any{
		"controllerName": "example.com/gateway", "parentRef": map[string]any{"name": "public", "sectionName": "https"}, "conditions": conditions,
	}}}
}

func condition(name, status, reason, message string, generation int64) map[string]any {
	return map[string]any{
		"type": name, "status": status, "reason": reason, "message": message,
		"observedGeneration": generation, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
}

// report writes the status of an object as its controller does.
func report(t *testing.T, object *unstructured.Unstructured, status func(generation int64) map[string]any) {
	t.Helper()
	eventually(t, "report on "+object.GetName(), func() error {
		if err := get(t, object); err != nil {
			return err
		}
		object.Object["status"] = status(object.GetGeneration())
		return kube.Status().Update(t.Context(), object)
	})
}

func waitExternal(t *testing.T, namespace string, kind owned.Kind, name string) *unstructured.Unstructured {
	t.Helper()
	object := kind.New().(*unstructured.Unstructured)
	object.SetNamespace(namespace)
	object.SetName(name)
	eventually(t, kind.Name+" "+name+" exists", func() error { return get(t, object) })
	return object
}

func waitGone(t *testing.T, object client.Object) {
	t.Helper()
	eventually(t, object.GetName()+" is gone", func() error {
		if err := get(t, object); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
}

func install(t *testing.T, definition func() (*apiextensionsv1.CustomResourceDefinition, error)) {
	t.Helper()
	crd, err := definition()
	must(t, err)
	must(t, crds.Install(t.Context(), kube, plane.Config, crd))
}

func uninstall(t *testing.T, definition func() (*apiextensionsv1.CustomResourceDefinition, error)) {
	t.Helper()
	crd, err := definition()
	must(t, err)
	must(t, kube.Delete(context.WithoutCancel(t.Context()), crd))
	waitGone(t, crd)
}

// TestExposedPortsFollowTheService: until the pods with the old ports are gone, the Ingress sends requests to a port that
// the Service has.
func TestExposedPortsFollowTheService(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Ingress: &v1alpha2.Ingress{Hosts: []v1alpha2.IngressHost{{}}}})
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Ports = []v1alpha2.Port{{Name: "web", Port: 8080, Protocol: corev1.ProtocolTCP}}
	})
	eventually(t, "the Ingress names a port of the Service", func() error {
		service, ingress := ownedObject(t, nginx, "Service").(*corev1.Service), ownedObject(t, nginx, "Ingress").(*networkingv1.Ingress)
		return same(ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service.Port.Name, service.Spec.Ports[0].Name)
	})
}

// TestExposureSample: the sample is accepted.
func TestExposureSample(t *testing.T) {
	text, err := os.ReadFile("../../config/samples/v1alpha2_exposed.yaml")
	must(t, err)
	obj := &unstructured.Unstructured{}
	must(t, yaml.Unmarshal(text, obj))
	obj.SetNamespace(newNamespace(t))
	must(t, kube.Create(t.Context(), obj, client.DryRunAll, client.FieldValidation("Strict")))
}
