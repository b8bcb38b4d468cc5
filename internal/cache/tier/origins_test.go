package tier

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/handover"
)

// withOrigin returns a cache in front of an NginxOperator.
func withOrigin(name string) *v1alpha1.NginxCache {
	cache := sample()
	cache.Spec.Origins = append(cache.Spec.Origins, v1alpha1.Origin{Name: "app", Hosts: []string{"a"}, NginxOperator: &v1alpha1.NginxOperatorReference{Name: name}})
	return cache
}

// TestOrigins: an NginxOperator is requested at its own port, and one that is not there stops nothing else.
func TestOrigins(t *testing.T) {
	port := func(name string, number int32, protocol corev1.Protocol) v1alpha2.Port {
		return v1alpha2.Port{Name: name, Port: number, Protocol: protocol}
	}
	for name, tt := range map[string]struct {
		ports           []v1alpha2.Port
		server, missing string
	}{
		"the port called http": {[]v1alpha2.Port{port("admin", 81, "TCP"), port("http", 8080, "TCP")}, "app.shop.svc.cluster.local:8080 ", ""},
		"the first TCP port":   {[]v1alpha2.Port{port("http", 53, "UDP"), port("web", 81, ""), port("admin", 82, "TCP")}, "app.shop.svc.cluster.local:81 ", ""},
		"no TCP port":          {[]v1alpha2.Port{port("dns", 53, "UDP")}, "app.shop.svc.cluster.local:80 ", "spec.origins[1]: NginxOperator app has no TCP port"},
		"none":                 {nil, "app.shop.svc.cluster.local:80 ", "spec.origins[1]: NginxOperator app does not exist"},
	} {
		cache := withOrigin("app")
		origins, err := FindOrigins(cache, func(string) (*v1alpha2.NginxOperator, error) {
			if tt.ports == nil {
				return nil, nil
			}
			return &v1alpha2.NginxOperator{Spec: v1alpha2.NginxOperatorSpec{Ports: tt.ports}}, nil
		})
		if err != nil || !strings.HasPrefix(origins.Missing, tt.missing) || (origins.Missing == "") != (tt.missing == "") {
			t.Errorf("%s: %q, %v", name, origins.Missing, err)
		}
		tiers := Build(cache, testCluster, PlanVolumes(cache, nil), handover.Plan{Shards: 4}, origins, cacheconf.PeerKeys{})
		if text := string(tiers.Shards.Spec.Config.Files["gateway.conf"]); tiers.Invalid != nil || !strings.Contains(text, "server "+tt.server) {
			t.Errorf("%s: %v\n%s", name, tiers.Invalid, text)
		}
	}
	if _, err := FindOrigins(withOrigin("app"), func(string) (*v1alpha2.NginxOperator, error) { return nil, errors.New("no answer") }); err == nil {
		t.Error("what cannot be read counts as missing")
	}
}
