package restoration

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
)

const exposed = `
ports: [{name: http, port: 80, nodePort: 30080}, {name: https, port: 443}]
tls:
- {name: site, secretName: site-tls, certificate: {issuerRef: {name: ca}, dnsNames: [shop.example.com]}}
- {name: other, secretName: other-tls}
service:
  type: LoadBalancer
  annotations: {external-dns.alpha.kubernetes.io/hostname: shop.example.com}
  sessionAffinity: ClientIP
  loadBalancerClass: example.com/fast
ingress: {hosts: [{host: shop.example.com}]}
httpRoutes: [{name: main, parentRefs: [{name: public}], hostnames: [shop.example.com]}]
`

const unexposed = `
ports: [{name: http, port: 80}, {name: https, port: 443}]
tls: [{name: site, secretName: site-tls}, {name: other, secretName: other-tls}]
service: {type: ClusterIP, sessionAffinity: ClientIP}
`

func specOf(t *testing.T, text string) v1alpha2.NginxOperatorSpec {
	t.Helper()
	var spec v1alpha2.NginxOperatorSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestExposure: an application that is restored under another name has the exposure of the existing target, or none. Under
// its own name, it has that of the backup, as in a new cluster.
func TestExposure(t *testing.T) {
	const left = "not restored: spec.ingress, spec.httpRoutes, spec.service.type, spec.service.annotations, spec.service.loadBalancerClass, spec.ports[http].nodePort, spec.tls[site].certificate"
	const ownExposure = `
ports: [{name: http, port: 80, nodePort: 30081}, {name: https, port: 443}]
tls:
- {name: site, secretName: site-tls}
- {name: other, secretName: other-tls, certificate: {issuerRef: {name: ca}, dnsNames: [new.example.com]}}
service: {type: NodePort, sessionAffinity: ClientIP}
ingress: {hosts: [{host: new.example.com}]}
`
	tests := []struct{ name, target, live, want, difference string }{
		{"the same name, and the original is gone", "web", "", exposed, ""},
		{"the same name, and the original has no Ingress", "web", unexposed, exposed, "spec.httpRoutes, spec.ingress, spec.ports, spec.service, spec.tls"},
		{"another name", "new", "", unexposed, left},
		{"another name, and it is there already", "new", unexposed, "", left},
		{"another name, and the target has its own", "new", ownExposure + "replicas: 7", ownExposure, "spec.replicas; " + left},
		{"another name, and the target has the same Ingress", "new", unexposed + "ingress: {hosts: [{host: shop.example.com}]}", "", strings.Replace(left, "spec.ingress, ", "", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := Backup{Nginx: &v1alpha2.NginxOperator{Spec: specOf(t, exposed)}}
			b.Nginx.Name = "web"
			l := Live{}
			if tt.live != "" {
				l.Nginx = &v1alpha2.NginxOperator{Spec: specOf(t, tt.live)}
			}
			p, err := Build(aRequest(tt.target, everything), b, l)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Changes[0].Difference; got != tt.difference {
				t.Errorf("the change is %q, want %q", got, tt.difference)
			}
			if p.Nginx == nil {
				p.Nginx = &v1alpha2.NginxOperator{}
			}
			if diff := cmp.Diff(specOf(t, tt.want), p.Nginx.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestExposureIsDecided: for each field of the spec and of the Service it is decided whether a restore under another name
// keeps it. A field that two applications cannot both have must be left out.
func TestExposureIsDecided(t *testing.T) {
	const (
		specKeeps = "image imagePullSecrets replicas ports forceRedeploy config readiness checks content tls service serviceAccount " +
			"disruption networkPolicy resources podTemplate rollout drain metrics suspend"
		serviceKeeps = "headless labels sessionAffinity sessionAffinityTimeoutSeconds ipFamilyPolicy ipFamilies internalTrafficPolicy trafficDistribution"
		portKeeps    = "name port targetPort protocol"
		tlsKeeps     = "name secretName"
	)
	spec := &v1alpha2.NginxOperatorSpec{}
	randfill.NewWithSeed(1).NilChance(0).NumElements(1, 1).MaxDepth(12).Fill(spec)
	b := Backup{Nginx: &v1alpha2.NginxOperator{}}
	b.Nginx.Name = "web"
	m := &builder{Request: aRequest("new", everything), backup: b}
	m.ownExposure(spec)
	spec.Service.Type = "" // ClusterIP
	for _, tt := range []struct {
		path, keeps string
		value       any
	}{
		{"spec", specKeeps, *spec}, {"spec.service", serviceKeeps, *spec.Service}, {"spec.ports[]", portKeeps, spec.Ports[0]}, {"spec.tls[]", tlsKeeps, spec.TLS[0]},
	} {
		v := reflect.ValueOf(tt.value)
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if kept := slices.Contains(strings.Fields(tt.keeps), name); kept == v.Field(i).IsZero() {
				t.Errorf("%s.%s: a copy has it: %v, want %v. Can both applications have it? Then add it to the test, otherwise to ownExposure", tt.path, name, !kept, kept)
			}
		}
	}
}
