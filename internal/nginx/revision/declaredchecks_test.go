package revision

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// TestWithChecks: the file with the checks stays readable for pods of other releases.
func TestWithChecks(t *testing.T) {
	ports := []v1alpha2.Port{{Name: "dns", Port: 53, Protocol: "UDP"}, {Name: "http", Port: 8080, Protocol: "TCP"}}
	for name, tt := range map[string]struct {
		spec     v1alpha2.NginxOperatorSpec
		families []corev1.IPFamily
		want     string
	}{
		"nothing":  {},
		"compared": {spec: v1alpha2.NginxOperatorSpec{Rollout: &v1alpha2.Rollout{FirstAnswers: new(v1alpha2.FirstAnswersCompare)}}},
		"ignored": {
			spec: v1alpha2.NginxOperatorSpec{Rollout: &v1alpha2.Rollout{FirstAnswers: new(v1alpha2.FirstAnswersIgnore)}},
			want: `{"ignoreFirstAnswers":true}`,
		},
		"defaults": {
			spec: v1alpha2.NginxOperatorSpec{Ports: ports, Checks: []v1alpha2.Check{{}}},
			want: `{"checks":[{"scheme":"HTTP","port":8080,"path":"/","timeoutSeconds":1}]}`,
		},
		"IPv4 alone": {families: []corev1.IPFamily{corev1.IPv4Protocol}},
		"IPv6 alone": {families: []corev1.IPFamily{corev1.IPv6Protocol}, want: `{"families":["IPv6"]}`},
		"a target port": {
			spec: v1alpha2.NginxOperatorSpec{
				Ports:  []v1alpha2.Port{{Name: "http", Port: 80, TargetPort: new(int32(8080)), Protocol: "TCP"}},
				Checks: []v1alpha2.Check{{Port: new(int32(80))}},
			},
			want: `{"checks":[{"scheme":"HTTP","port":8080,"path":"/","timeoutSeconds":1}]}`,
		},
		"readiness": {
			spec: v1alpha2.NginxOperatorSpec{Ports: ports, Readiness: &v1alpha2.Readiness{Path: "/ready"}},
			want: `{"readiness":{"scheme":"HTTP","port":8080,"path":"/ready","timeoutSeconds":1,"periodSeconds":5,"failureThreshold":3}}`,
		},
		"everything": {
			spec: v1alpha2.NginxOperatorSpec{Ports: ports, Checks: []v1alpha2.Check{{
				Path: "/a?b", Host: new("shop"), Port: new(int32(8443)), Scheme: "HTTPS", ProxyProtocol: new(true),
				TimeoutSeconds: new(int32(3)), ExpectStatus: new(int32(404)), ExpectBody: new("<b>"),
			}}},
			want: `{"checks":[{"scheme":"HTTPS","host":"shop","port":8443,"path":"/a?b","proxyProtocol":true,"timeoutSeconds":3,"expectStatus":404,"expectBody":"\u003cb\u003e"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := nginxconf.New(nginxconf.Files{"a.conf": "server {}"})
			if err != nil {
				t.Fatal(err)
			}
			got := AddChecksFile(config, &tt.spec, tt.families)
			if got.Files[instanceapi.FileChecks] != tt.want {
				t.Errorf("the file is %s, and not %s", got.Files[instanceapi.FileChecks], tt.want)
			}
			if same := got.Revision == config.Revision; same != (tt.want == "") {
				t.Errorf("the same revision: %v", same)
			}
			if _, has := config.Files[instanceapi.FileChecks]; has {
				t.Error("the user's files were changed")
			}
		})
	}
}
