//go:build e2e && exposure

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/external"
	"example.com/nginx-operator/internal/nginx/naming"
)

// These tests need Traefik and cert-manager, which `cluster addon traefik cert-manager` installs. All requests go through
// Traefik's Service.

// traefik is the name of Traefik's namespace, Service, IngressClass and GatewayClass.
const traefik = "traefik"

// TestExposedIngress: Traefik serves the application's Ingress.
func TestExposedIngress(t *testing.T) {
	t.Parallel()
	spec := saying("by an Ingress", 1)
	spec.Ingress = &v1alpha2.Ingress{
		ClassName: new(traefik),
		Hosts:     []v1alpha2.IngressHost{{Host: new(v1alpha2.Hostname("ingress.example.com")), Paths: []v1alpha2.IngressPath{{Path: "/shop"}}}},
	}
	nginx := createReady(t, newNamespace(t), "web", spec)
	waitExposed(t, nginx)
	wantAddress(t, nginx, "traefik.traefik.svc.cluster.local")
	waitHost(t, "ingress.example.com", "/shop", "by an Ingress")
	waitHost(t, "ingress.example.com", "/", "404 page not found")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Ingress.Hosts[0].Host = new(v1alpha2.Hostname("moved.example.com"))
	})
	waitHost(t, "moved.example.com", "/shop", "by an Ingress")
	waitHost(t, "ingress.example.com", "/shop", "404 page not found")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Ingress = nil })
	waitNotExposed(t, nginx, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: nginx.Name}})
	waitHost(t, "moved.example.com", "/shop", "404 page not found")
}

// TestExposedHTTPRoute: Traefik serves the application's HTTPRoute, and what is wrong with a route is in Exposed.
func TestExposedHTTPRoute(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	apply(t, namespace, publicGateway)
	spec := saying("by a route", 1)
	spec.HTTPRoutes = []v1alpha2.HTTPRoute{{
		Name: "main", Hostnames: []v1alpha2.Hostname{"route.example.com"},
		ParentRefs: []v1alpha2.ParentReference{{Name: "public", SectionName: new("web")}},
	}}
	nginx := createReady(t, namespace, "web", spec)
	waitExposed(t, nginx)
	wantAddress(t, nginx, "route.example.com")
	waitHost(t, "route.example.com", "/", "by a route")

	setParent := func(parent v1alpha2.ParentReference) {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.HTTPRoutes[0].ParentRefs[0] = parent })
	}
	setParent(v1alpha2.ParentReference{Name: "public", SectionName: new("absent")})
	waitMessage(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonRouteNotAccepted,
		"HTTPRoute web-main: Gateway public, section absent does not accept the route", "correct spec.httpRoutes or the parent")
	setParent(v1alpha2.ParentReference{Name: "absent"})
	waitMessage(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionUnknown, v1alpha2.ReasonExposurePending,
		"HTTPRoute web-main: Gateway absent", "check that it exists")
	setParent(v1alpha2.ParentReference{Name: "public"})
	waitExposed(t, nginx)
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.HTTPRoutes[0].Rules = []v1alpha2.HTTPRouteRule{{Backends: []v1alpha2.HTTPRouteBackend{{Service: new("absent"), Port: new(int32(80))}}}}
	})
	waitMessage(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionFalse, v1alpha2.ReasonRouteRefsNotResolved,
		"HTTPRoute web-main: Gateway public", "absent", "correct the backends in spec.httpRoutes")

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.HTTPRoutes = nil })
	waitNotExposed(t, nginx, optional(external.HTTPRoute(), namespace, naming.HTTPRoute("web", "main")))
	waitHost(t, "route.example.com", "/", "404 page not found")
}

// TestExposedSplit: a rule shares requests between two applications in proportion to the weights.
func TestExposedSplit(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	apply(t, namespace, publicGateway)
	next := create(t, namespace, "next", saying("by the next", 1))
	spec := saying("by this", 1)
	spec.HTTPRoutes = []v1alpha2.HTTPRoute{{
		Name: "main", Hostnames: []v1alpha2.Hostname{"split.example.com"},
		ParentRefs: []v1alpha2.ParentReference{{Name: "public"}},
		Rules: []v1alpha2.HTTPRouteRule{{Backends: []v1alpha2.HTTPRouteBackend{
			{Weight: new(int32(3))}, {Service: new("next"), Port: new(int32(httpPort)), Weight: new(int32(1))},
		}}},
	}}
	nginx := createReady(t, namespace, "web", spec)
	waitReady(t, next)
	waitExposed(t, nginx)
	for _, want := range []string{"by this", "by the next"} {
		waitHost(t, "split.example.com", "/", want)
	}
	const requests = 80
	answers := map[string]int{}
	for range requests {
		body, err := fetchHost(t.Context(), "split.example.com", "/")
		must(t, err)
		answers[body]++
	}
	if n := answers["by the next"]; n < requests/8 || n > requests*3/8 || answers["by this"] != requests-n {
		t.Errorf("with the weights 3 and 1, the answers to %d requests are %v", requests, answers)
	}
}

// publicGateway is a Gateway of Traefik's class. Its listener must use the port of Traefik's Service.
const publicGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: public}
spec:
  gatewayClassName: traefik
  listeners:
  - {name: web, protocol: HTTP, port: 80}
`

// apply creates the objects of a manifest in a namespace.
func apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		obj := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(text), obj))
		obj.SetNamespace(namespace)
		must(t, kube.Create(t.Context(), obj))
	}
}

func waitExposed(t *testing.T, nginx *v1alpha2.NginxOperator) {
	t.Helper()
	waitCondition(t, nginx, v1alpha2.ConditionExposed, metav1.ConditionTrue, v1alpha2.ReasonExposed)
}

// waitNotExposed waits until an object and the condition are gone.
func waitNotExposed(t *testing.T, nginx *v1alpha2.NginxOperator, obj client.Object) {
	t.Helper()
	eventually(t, obj.GetName()+" is gone", func() error { return gone(get(t, obj)) })
	eventually(t, "the condition is gone", func() error {
		must(t, get(t, nginx))
		if c := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionExposed); c != nil {
			return fmt.Errorf("it is %+v", *c)
		}
		return nil
	})
}

func wantAddress(t *testing.T, nginx *v1alpha2.NginxOperator, host string) {
	t.Helper()
	for _, a := range nginx.Status.Addresses {
		if a.Type == v1alpha2.HostnameType && a.Value == host {
			return
		}
	}
	t.Errorf("status.addresses lacks %s: %+v", host, nginx.Status.Addresses)
}

// fetchHost sends a request for a host to Traefik. The API server's proxy passes the Host header on.
func fetchHost(ctx context.Context, host, path string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, request(traefik, traefik, "web", path).URL().String(), nil)
	if err != nil {
		return "", err
	}
	r.Host = host
	response, err := clientset.CoreV1().RESTClient().(*rest.RESTClient).Client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// waitHost waits until Traefik answers a request for a host with a text that contains want.
func waitHost(t *testing.T, host, path, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("http://%s%s answers %q", host, path, want), func() error {
		body, err := fetchHost(t.Context(), host, path)
		if err == nil && !strings.Contains(body, want) {
			err = fmt.Errorf("it answers %q", body)
		}
		return err
	})
}
