package api

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
)

// waitAddresses waits until status.addresses contains the wanted addresses.
func waitAddresses(t *testing.T, nginx *v1alpha2.NginxOperator, want ...v1alpha2.Address) {
	t.Helper()
	eventually(t, "the addresses", func() error {
		must(t, get(t, nginx))
		if diff := cmp.Diff(want, nginx.Status.Addresses); diff != "" {
			return fmt.Errorf("-want +got:\n%s", diff)
		}
		return nil
	})
}

// TestAddresses: the addresses follow the Service, from pending to an address and back to an
// address inside the cluster.
func TestAddresses(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Service: &v1alpha2.Service{Type: corev1.ServiceTypeLoadBalancer}})
	wantNoWrites(t, nginx)
	waitAddresses(t, nginx)

	service := ownedObject(t, nginx, "Service").(*corev1.Service)
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "web.example.com"}, {IP: "2001:db8::7"}, {IP: "192.0.2.7"}}
	must(t, kube.Status().Update(t.Context(), service))
	waitAddresses(t, nginx,
		v1alpha2.Address{Type: v1alpha2.HostnameType, Value: "web.example.com"},
		v1alpha2.Address{Type: v1alpha2.IPAddressType, Value: "192.0.2.7"},
		v1alpha2.Address{Type: v1alpha2.IPAddressType, Value: "2001:db8::7"})
	wantNoWrites(t, nginx)
	old := asV1Alpha1(nginx.Namespace, nginx.Name)
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), old))
	if len(old.Status.Addresses) != 3 {
		t.Errorf("v1alpha1 has %v", old.Status.Addresses)
	}

	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Service.Type = corev1.ServiceTypeClusterIP })
	waitAddresses(t, nginx, v1alpha2.Address{Type: v1alpha2.HostnameType, Value: "web." + nginx.Namespace + ".svc"})
}
