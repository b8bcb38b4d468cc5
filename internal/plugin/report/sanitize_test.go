package report

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// carriers are objects with a secret, %[1]s, at a place where users put them.
var carriers = []string{
	`{kind: NginxOperator, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"spec":"%[1]s"}'}}}`,
	`{kind: NginxOperator, spec: {podTemplate: {env: [{name: X, value: "%[1]s"}]}}}`,
	`{kind: NginxOperator, spec: {config: {env: [{name: X, value: "%[1]s"}]}}}`,
	`{kind: NginxOperator, spec: {readiness: {httpHeaders: [{name: X, value: "%[1]s"}]}}}`,
	`{kind: NginxOperator, spec: {config: {files: {a.conf: 'proxy_set_header Authorization "Bearer %[1]s";'}}}}`,
	`{kind: NginxOperator, spec: {config: {files: {a.conf: 'proxy_set_header X-Api-Key %[1]s;'}}}}`,
	`{kind: NginxOperator, spec: {config: {files: {a.conf: 'proxy_pass http://jo:%[1]s@backend;'}}}}`,
	`{kind: NginxOperator, spec: {config: {files: {a.conf: 'set $api_token "%[1]s";'}}}}`,
	`{kind: NginxOperator, spec: {config: {files: {a.conf: 'fastcgi_param DB_PASSWORD %[1]s;'}}}}`,
	`{kind: NginxOperator, spec: {config: {files: {a.conf: 'secure_link_md5 "$uri %[1]s";'}}}}`,
	`{kind: NginxOperator, spec: {config: {files: {users: 'jo:$apr1$%[1]s$x'}}}}`,
	`{kind: NginxOperator, status: {conditions: [{type: Ready, message: 'GET /?token=%[1]s failed'}]}}`,
	`{kind: ConfigMap, data: {nginx-operator-variables.json: '{"variables":[{"name":"X","value":"%[1]s"}]}'}}`,
	`{kind: ConfigMap, data: {app.env: "DB_PASSWORD=%[1]s"}}`,
	`{kind: ConfigMap, data: {app.json: '{"clientSecret": "%[1]s"}'}}`,
	`{kind: ConfigMap, data: {tls.key: "-----BEGIN PRIVATE KEY-----\n%[1]s\n-----END PRIVATE KEY-----"}}`,
	`{kind: ControllerRevision, data: {config: {files: {a.conf: 'add_header Set-Cookie "sid=%[1]s";'}}}}`,
	`{kind: Secret, data: {x: "%[1]s"}, stringData: {y: "%[1]s"}}`,
	`{kind: Pod, spec: {containers: [{env: [{name: X, value: "%[1]s"}]}]}}`,
	`{kind: Pod, spec: {containers: [{args: ["--db-password", "%[1]s"]}]}}`,
	`{kind: ConfigMap, binaryData: {x: "%[1]s"}}`,
	`{kind: ConfigMap, data: {a.conf: 'if ($http_x_api_key != "%[1]s") { return 403; }'}}`,
	`{kind: Event, note: 'cannot pull https://jo:%[1]s@registry.example.com/x'}`,
}

// planted are secrets of the kinds that people and services make.
var planted = []string{"hunter2-Winter", "8c1f7e0a9b2d4c6e8f0a1b2c3d4e5f60", "kJ8s+Zq/2mN4vB7xC1dF5gH9jK3lP6rT", "correct-horse-battery", "AKIAIOSFODNN7EXAMPLE"}

// TestPlantedSecrets: none of the secrets is in what a report has of objects.
func TestPlantedSecrets(t *testing.T) {
	leaked := 0
	for _, carrier := range carriers {
		for _, secret := range planted {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(fmt.Appendf(nil, carrier, secret), &object.Object); err != nil {
				t.Fatalf("%s: %v", carrier, err)
			}
			Sanitize(object)
			text, err := yaml.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), secret) {
				leaked++
				t.Errorf("%s leaks:\n%s", carrier, text)
			}
		}
	}
	n := len(carriers) * len(planted)
	if n < 100 {
		t.Errorf("only %d secrets are planted", n)
	}
	t.Logf("%d of %d planted secrets leak", leaked, n)
}

// TestHarmlessFields: what support needs stays.
func TestHarmlessFields(t *testing.T) {
	const text = `apiVersion: operator.example.com/v1alpha2
kind: NginxOperator
metadata:
  name: shop
  namespace: me
spec:
  config:
    env:
    - name: TOKEN
      valueFrom:
        secretKeyRef:
          key: token
          name: backend
    files:
      site.conf: server { listen 80; location / { return 200; } }
  image: localhost/nginx:1.30-debian
  replicas: 2
  tls:
  - name: site
    secretName: shop-tls
`
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	Sanitize(object)
	got, err := yaml.Marshal(object.Object)
	if err != nil || string(got) != text {
		t.Errorf("%v\n%s", err, got)
	}
}
