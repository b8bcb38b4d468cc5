package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/naming"
)

func TestReplacements(t *testing.T) {
	service := func(annotations map[string]string, ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "7", Annotations: annotations},
			Spec:       corev1.ServiceSpec{Ports: ports},
		}
	}
	intent := desired.Intent{Kind: kind(t, "Service"), Fields: fields(t, `spec: {ports: [{name: http, port: 80}, {name: admin, port: 9000}]}`)}
	written := map[string]string{naming.AnnotationIntent: "hash"}
	http, theirs := corev1.ServicePort{Name: "http", Port: 80}, corev1.ServicePort{Name: "theirs", Port: 1}
	changed := corev1.ServicePort{Name: "admin", Port: 9001}
	for name, tt := range map[string]struct {
		live *corev1.Service
		want string
	}{
		"all stand":      {service(written, http, corev1.ServicePort{Name: "admin", Port: 9000}), ``},
		"one is missing": {service(written, http), ``},
		"one was changed": {service(written, theirs, changed, http), `
- {op: replace, path: /metadata/resourceVersion, value: "7"}
- {op: replace, path: /metadata/annotations/operator.example.com~1intent, value: replaced}
- {op: replace, path: /spec/ports/1, value: {name: admin, port: 9000}}`},
		"nothing was applied": {service(nil, changed), `
- {op: replace, path: /metadata/resourceVersion, value: "7"}
- {op: replace, path: /spec/ports/0, value: {name: admin, port: 9000}}`},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := replacements(intent, tt.live)
			if err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := yaml.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if patch != nil {
				if err := json.Unmarshal(patch, &got); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
