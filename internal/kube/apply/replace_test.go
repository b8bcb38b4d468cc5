package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
)

func TestReplacements(t *testing.T) {
	service := func(annotations map[string]string, ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "7", Annotations: annotations},
			Spec:       corev1.ServiceSpec{Ports: ports},
		}
	}
	intent := owned.Intent{Kind: kind(t, "Service"), Fields: fields(t, `spec: {ports: [{name: http, port: 80}, {name: admin, port: 9000}]}`)}
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
- {op: add, path: /metadata/annotations/operator.example.com~1intent, value: replaced}
- {op: replace, path: /spec/ports/1, value: {name: admin, port: 9000}}`},
		"nothing was applied": {service(nil, changed), `
- {op: replace, path: /metadata/resourceVersion, value: "7"}
- {op: add, path: /metadata/annotations, value: {operator.example.com/intent: replaced}}
- {op: replace, path: /spec/ports/0, value: {name: admin, port: 9000}}`},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := settings.replacements(intent, tt.live)
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

// TestReplacementsOfUnions: if only one of several fields may be set and another client has set a
// different one, that one is removed.
func TestReplacementsOfUnions(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, intent string
		live         owned.Object
		want         string
	}{
		"a budget of another sort": {
			"PodDisruptionBudget", `spec: {maxUnavailable: 1}`,
			&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(2))}},
			`{op: remove, path: /spec/minAvailable}`,
		},
		"a seccomp profile of another type": {
			"Deployment", `spec: {template: {spec: {securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}}}}`,
			&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("a.json")},
			}}}}},
			`{op: replace, path: /spec/template/spec/securityContext/seccompProfile, value: {type: RuntimeDefault}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			patch, err := settings.replacements(owned.Intent{Kind: kind(t, tt.kind), Fields: fields(t, tt.intent)}, tt.live)
			if err != nil {
				t.Fatal(err)
			}
			var got []any
			if err := json.Unmarshal(patch, &got); err != nil || len(got) != 3 {
				t.Fatalf("%s: %v", patch, err)
			}
			if diff := cmp.Diff(any(fields(t, tt.want)), got[2]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestPointer: a key without special characters causes no allocation, since each comparison checks
// every key.
func TestPointer(t *testing.T) {
	if got := pointer("a/b~c"); got != "a~1b~0c" {
		t.Errorf("a/b~c is %s", got)
	}
	if n := testing.AllocsPerRun(10, func() { pointer("securityContext") }); n > 0 {
		t.Errorf("%v allocations for a key without special characters", n)
	}
}
