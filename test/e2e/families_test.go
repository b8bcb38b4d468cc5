//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// The tests of this file run on a cluster of any IP families. `make test-e2e-families` runs them on several.

// listens returns the directives of a server that listens on the test port in both families.
func listens() string { return fmt.Sprintf("listen %d; listen [::]:%[1]d;", httpPort) }

// saysInBoth returns a configuration that answers every request in both families.
func saysInBoth(text string) *v1alpha2.Config {
	return filesConfig(map[string]string{"site.conf": fmt.Sprintf("server { %s default_type text/plain; return 200 %q; }\n", listens(), text)})
}

// clusterFamilies returns the families of the cluster's pods, the primary one first.
func clusterFamilies(t *testing.T) []corev1.IPFamily {
	t.Helper()
	pods := operatorPods(t, operatorNamespace)
	if len(pods) == 0 {
		t.Fatal("the operator has no pod")
	}
	var families []corev1.IPFamily
	for _, ip := range pods[0].Status.PodIPs {
		families = append(families, familyOf(t, ip.IP))
	}
	return families
}

func familyOf(t *testing.T, address string) corev1.IPFamily {
	t.Helper()
	parsed, err := netip.ParseAddr(address)
	must(t, err)
	if parsed.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func serviceOf(t *testing.T, nginx *v1alpha2.NginxOperator) *corev1.Service {
	t.Helper()
	service := &corev1.Service{}
	must(t, kube.Get(t.Context(), client.ObjectKey{Namespace: nginx.Namespace, Name: naming.Service(nginx.Name)}, service))
	return service
}

// gateway is an application that passes requests on to addresses and names inside the cluster. The API server's proxy
// reaches only the first family of a Service.
type gateway struct {
	nginx *v1alpha2.NginxOperator
	// locations are the statements of each location, by its path.
	locations map[string]string
}

func newGateway(t *testing.T, namespace string) *gateway {
	t.Helper()
	return &gateway{
		nginx:     createReady(t, namespace, "gateway", v1alpha2.NginxOperatorSpec{Ports: ports(httpPort), Config: saysInBoth("gateway")}),
		locations: map[string]string{},
	}
}

// wantEach waits until an application answers at each address of its Service.
func (g *gateway) wantEach(t *testing.T, nginx *v1alpha2.NginxOperator, want string) {
	t.Helper()
	for _, ip := range serviceOf(t, nginx).Spec.ClusterIPs {
		g.want(t, fmt.Sprintf("proxy_pass http://%s/;", net.JoinHostPort(ip, fmt.Sprint(serviceOf(t, nginx).Spec.Ports[0].Port))), want)
	}
}

// wantByName waits until the DNS name of a Service resolves in a family to one of the addresses, at which the
// application answers.
func (g *gateway) wantByName(t *testing.T, nginx *v1alpha2.NginxOperator, family corev1.IPFamily, addresses []string, want string) {
	t.Helper()
	off := map[corev1.IPFamily]string{corev1.IPv4Protocol: "ipv6=off", corev1.IPv6Protocol: "ipv4=off"}[family]
	name := fmt.Sprintf("%s.%s.svc.cluster.local", naming.Service(nginx.Name), nginx.Namespace)
	location := fmt.Sprintf(`resolver kube-dns.kube-system.svc.cluster.local valid=1s %s; set $name %s; proxy_pass http://$name:%d/;
		sub_filter_types *; sub_filter %q "%[4]s at $upstream_addr";`, off, name, httpPort, want)
	var expected []string
	for _, address := range addresses {
		expected = append(expected, want+" at "+net.JoinHostPort(address, fmt.Sprint(httpPort)))
	}
	g.want(t, location, expected...)
}

// want waits until a location with these statements answers one of the texts.
func (g *gateway) want(t *testing.T, location string, texts ...string) {
	t.Helper()
	path := fmt.Sprintf("/%d", len(g.locations))
	g.locations[path] = location
	var site strings.Builder
	fmt.Fprintf(&site, "server { %s\n", listens())
	for path, statements := range g.locations {
		fmt.Fprintf(&site, "location = %s { proxy_connect_timeout 2s; %s }\n", path, statements)
	}
	site.WriteString("}\n")
	edit(t, g.nginx, func(s *v1alpha2.NginxOperatorSpec) {
		s.Config = filesConfig(map[string]string{"site.conf": site.String()})
	})
	waitReady(t, g.nginx)
	eventually(t, fmt.Sprintf("%s answers %q", location, texts), func() error {
		body, err := request(g.nginx.Namespace, naming.Service(g.nginx.Name), "http", path).DoRaw(t.Context())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(string(body), text) }) {
			return fmt.Errorf("it answers %q", body)
		}
		return nil
	})
}

// wantSlices waits until the EndpointSlices of a Service have exactly the addresses of the ready pods, in the families.
func wantSlices(t *testing.T, nginx *v1alpha2.NginxOperator, families []corev1.IPFamily) (byFamily map[corev1.IPFamily][]string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the EndpointSlices have the pods in %v", families), func() error {
		byFamily = map[corev1.IPFamily][]string{}
		for _, pod := range podsOf(t, nginx) {
			for _, ip := range pod.Status.PodIPs {
				if family := familyOf(t, ip.IP); slices.Contains(families, family) {
					byFamily[family] = append(byFamily[family], ip.IP)
				}
			}
		}
		found := map[corev1.IPFamily][]string{}
		list := &discoveryv1.EndpointSliceList{}
		must(t, kube.List(t.Context(), list, client.InNamespace(nginx.Namespace),
			client.MatchingLabels{discoveryv1.LabelServiceName: naming.Service(nginx.Name)}))
		for i := range list.Items {
			for _, e := range list.Items[i].Endpoints {
				found[corev1.IPFamily(list.Items[i].AddressType)] = append(found[corev1.IPFamily(list.Items[i].AddressType)], e.Addresses...)
			}
		}
		for _, addresses := range []map[corev1.IPFamily][]string{byFamily, found} {
			for family := range addresses {
				slices.Sort(addresses[family])
			}
		}
		if diff := cmp.Diff(byFamily, found); diff != "" {
			return fmt.Errorf("(-pods +slices):\n%s", diff)
		}
		return nil
	})
	return byFamily
}

// TestFamiliesDefault: an application with an empty spec answers in each family of its Service, and so does one whose
// Service has all families of the cluster.
func TestFamiliesDefault(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	gateway := newGateway(t, namespace)
	families := clusterFamilies(t)
	plain := createReady(t, namespace, "plain", v1alpha2.NginxOperatorSpec{})
	gateway.wantEach(t, plain, "nginx")
	if have := serviceOf(t, plain).Spec.IPFamilies; !slices.Equal(have, families[:1]) {
		t.Errorf("the Service has the families %v, the cluster %v", have, families)
	}
	every := createReady(t, namespace, "every", v1alpha2.NginxOperatorSpec{
		Service: &v1alpha2.Service{IPFamilyPolicy: new(corev1.IPFamilyPolicyPreferDualStack)},
	})
	gateway.wantEach(t, every, "nginx")
	if have := serviceOf(t, every).Spec.IPFamilies; !slices.Equal(have, families) {
		t.Errorf("the Service has the families %v, the cluster %v", have, families)
	}
}

// TestFamiliesRefused: a configuration that listens only on IPv4 is refused where the Service has IPv6, and only there.
func TestFamiliesRefused(t *testing.T) {
	t.Parallel()
	spec := v1alpha2.NginxOperatorSpec{
		Ports: ports(httpPort), Config: filesConfig(map[string]string{"site.conf": fmt.Sprintf("server { listen %d; return 200 hello; }", httpPort)}),
		Service: &v1alpha2.Service{IPFamilyPolicy: new(corev1.IPFamilyPolicyPreferDualStack)},
	}
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", spec)
	if !slices.Contains(clusterFamilies(t), corev1.IPv6Protocol) {
		waitReady(t, nginx)
		newGateway(t, namespace).wantEach(t, nginx, "hello")
		return
	}
	waitMessage(t, nginx, v1alpha2.ConditionConfigValid, metav1.ConditionFalse, v1alpha2.ReasonConfigRejected,
		"at an IPv6 address of the pod", fmt.Sprintf("add listen [::]:%d", httpPort))
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Config = saysInBoth("hello") })
	waitReady(t, nginx)
	newGateway(t, namespace).wantEach(t, nginx, "hello")
}

// TestFamiliesRequired: a Service that requires both families has them, or the condition says why not.
func TestFamiliesRequired(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Ports: ports(httpPort), Config: saysInBoth("hello"),
		Service: &v1alpha2.Service{IPFamilyPolicy: new(corev1.IPFamilyPolicyRequireDualStack)},
	})
	if len(clusterFamilies(t)) < 2 {
		waitMessage(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonRejected, "ipFamilyPolicy", "RequireDualStack")
		return
	}
	waitReady(t, nginx)
	if have := serviceOf(t, nginx).Spec; len(have.ClusterIPs) != 2 || len(have.IPFamilies) != 2 {
		t.Errorf("the Service has %v of %v", have.ClusterIPs, have.IPFamilies)
	}
	newGateway(t, namespace).wantEach(t, nginx, "hello")
}

// TestFamiliesHeadless: a Service becomes headless and gets an address again, while the pods stay.
func TestFamiliesHeadless(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	gateway := newGateway(t, namespace)
	nginx := createReady(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(2)), Ports: ports(httpPort), Config: saysInBoth("hello"),
		Service: &v1alpha2.Service{IPFamilyPolicy: new(corev1.IPFamilyPolicyPreferDualStack)},
	})
	pods, families := podUIDs(t, nginx), clusterFamilies(t)
	for _, headless := range []bool{true, false} {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Service.Headless = &headless })
		waitReady(t, nginx)
		eventually(t, fmt.Sprintf("the Service is headless: %t", headless), func() error {
			if ip := serviceOf(t, nginx).Spec.ClusterIP; (ip == corev1.ClusterIPNone) != headless {
				return fmt.Errorf("the clusterIP is %s", ip)
			}
			return nil
		})
		addresses := wantSlices(t, nginx, families)
		for i, family := range families {
			want := addresses[family]
			if !headless {
				want = serviceOf(t, nginx).Spec.ClusterIPs[i : i+1]
			}
			gateway.wantByName(t, nginx, family, want, "hello")
		}
		if headless {
			continue
		}
		gateway.wantEach(t, nginx, "hello")
	}
	waitOnly(t, nginx, pods)
}

// TestFamiliesSwitched: the Service changes from one family to the other, and back to both, while the pods stay. A family
// that the cluster lacks is refused, and the Service stays.
func TestFamiliesSwitched(t *testing.T) {
	t.Parallel()
	families := clusterFamilies(t)
	namespace := newNamespace(t)
	gateway := newGateway(t, namespace)
	nginx := createReady(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		Ports: ports(httpPort), Config: saysInBoth("hello"), Service: &v1alpha2.Service{IPFamilies: families[:1]},
	})
	pods := podUIDs(t, nginx)
	if len(families) == 1 {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Service.IPFamilies = otherFamily(families[0]) })
		waitMessage(t, nginx, v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonRejected, "ipFamilies")
		gateway.wantEach(t, nginx, "hello")
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Service.IPFamilies = families })
		waitReady(t, nginx)
		waitOnly(t, nginx, pods)
		return
	}
	for _, want := range [][]corev1.IPFamily{families[1:], {families[1], families[0]}, families, families[:1]} {
		edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) {
			s.Service.IPFamilies, s.Service.IPFamilyPolicy = want, nil
			if len(want) > 1 {
				s.Service.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
			}
		})
		waitReady(t, nginx)
		eventually(t, fmt.Sprintf("the Service has the families %v", want), func() error {
			if have := serviceOf(t, nginx).Spec.IPFamilies; !slices.Equal(have, want) {
				return fmt.Errorf("it has %v", have)
			}
			return nil
		})
		wantSlices(t, nginx, want)
		gateway.wantEach(t, nginx, "hello")
	}
	waitOnly(t, nginx, pods)
}

func otherFamily(family corev1.IPFamily) []corev1.IPFamily {
	if family == corev1.IPv4Protocol {
		return []corev1.IPFamily{corev1.IPv6Protocol}
	}
	return []corev1.IPFamily{corev1.IPv4Protocol}
}

// TestFamiliesConversion: the API server reaches the conversion webhook.
func TestFamiliesConversion(t *testing.T) {
	t.Parallel()
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Replicas: new(int32(2))})
	old := &v1alpha1.NginxOperator{}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), old))
	if r := old.Spec.Replicas; r == nil || *r != 2 {
		t.Errorf("read as v1alpha1, the replicas are %v", r)
	}
}

// TestFamiliesProbes: a pod becomes ready by a request to a path, also if nginx listens only in the first family.
func TestFamiliesProbes(t *testing.T) {
	t.Parallel()
	listen := fmt.Sprintf("listen %d;", httpPort)
	if clusterFamilies(t)[0] == corev1.IPv6Protocol {
		listen = fmt.Sprintf("listen [::]:%d;", httpPort)
	}
	nginx := createReady(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{
		Ports:     ports(httpPort),
		Config:    filesConfig(map[string]string{"site.conf": fmt.Sprintf("server { %s location / { return 200 hello; } location /healthz { return 204; } }", listen)}),
		Readiness: &v1alpha2.Readiness{Path: "/healthz"},
		Checks:    []v1alpha2.Check{{ExpectBody: new("hello")}},
	})
	waitAnswer(t, nginx, "hello")
}

// TestFamiliesCache: the sample of a cache answers from what it has stored.
func TestFamiliesCache(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	gateway := newGateway(t, namespace)
	waitReady(t, createSample(t, namespace, "v1alpha2_static_site.yaml")["hello"])
	createSample(t, namespace, "cache_v1alpha1_cache.yaml")
	cache := &cachev1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "front"}}
	waitCache(t, cache, cachev1alpha1.ConditionReady, metav1.ConditionTrue)
	gateway.want(t, fmt.Sprintf(`proxy_pass http://%s.%s.svc/; sub_filter "</h1>" " ($upstream_http_cache_status)</h1>";`,
		cachev1alpha1.EdgeName(cache.Name), namespace), "; hit")
}

// TestFamiliesBackup: a backup is stored on a claim.
func TestFamiliesBackup(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	newClaim(t, namespace, "backups")
	createReady(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	backup := createBackup(t, namespace, "now", "web", backupv1alpha1.Destination{URL: "pvc://backups/nginx"})
	waitBackup(t, backup, backupv1alpha1.ReasonCompleted)
	if backup.Status.Location == "" {
		t.Error("the backup has no location")
	}
}
