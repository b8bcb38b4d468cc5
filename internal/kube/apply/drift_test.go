package apply

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
)

// kind returns the owned kind with a name.
func kind(t *testing.T, name string) owned.Kind {
	t.Helper()
	for _, k := range desired.Kinds(application.KindDeployment) {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("there is no kind %s", name)
	return owned.Kind{}
}

// TestDriftedFields: if the Go type distinguishes a value from an unset field, the value must be present.
func TestDriftedFields(t *testing.T) {
	pod := func(text string) string { return `spec: {template: {spec: {` + text + `}}}` }
	tests := map[string]struct {
		kind, intent, live string
		want               []string
	}{
		"hardening": {
			"Deployment", pod(`containers: [{name: nginx, securityContext: {allowPrivilegeEscalation: false}}]`),
			pod(`containers: [{name: nginx, securityContext: {}}]`),
			[]string{"spec.template.spec.containers[nginx].securityContext.allowPrivilegeEscalation"},
		},
		"token": {"ServiceAccount", `automountServiceAccountToken: false`, `{}`, []string{"automountServiceAccountToken"}},
		"empty volume": {
			"Deployment", pod(`volumes: [{name: scratch, emptyDir: {}}]`), pod(`volumes: [{name: scratch, hostPath: {path: /}}]`),
			[]string{"spec.template.spec.volumes[scratch].emptyDir"},
		},
		"empty volume, filled": {"Deployment", pod(`volumes: [{name: scratch, emptyDir: {}}]`), pod(`volumes: [{name: scratch, emptyDir: {medium: Memory}}]`), nil},
		"no grace": {
			"Deployment", pod(`terminationGracePeriodSeconds: 0`), pod(``), []string{"spec.template.spec.terminationGracePeriodSeconds"},
		},
		"same as nothing": {
			"Deployment", pod(`hostNetwork: false, nodeName: "", containers: [{name: nginx, env: [{name: A, value: ""}], volumeMounts: [{name: a, readOnly: false}], args: []}]`),
			pod(`containers: [{name: nginx, env: [{name: A}], volumeMounts: [{name: a}]}]`), nil,
		},
		"same as nothing, changed": {
			"Deployment", pod(`hostNetwork: false`), pod(`hostNetwork: true`), []string{"spec.template.spec.hostNetwork"},
		},
		"files":           {"ConfigMap", `data: {}`, `{}`, nil},
		"a file of bytes": {"ConfigMap", `data: {a: b}`, `{data: {a: b}, binaryData: {c: AQ==}}`, []string{"binaryData.c"}},
		"added files":     {"ConfigMap", `data: {a: b}`, `{data: {a: b, z.conf: c, c: d}}`, []string{"data.c", "data.z.conf"}},
		"added elsewhere": {"Service", `spec: {selector: {a: b}}`, `{spec: {selector: {a: b}, type: ClusterIP}, data: {a: b}}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			intent := owned.Intent{Kind: kind(t, tt.kind), Fields: fields(t, tt.intent)}
			got, err := driftedFields(intent, fields(t, tt.live))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestAtomicFields: a key that another client adds to an atomic field of an owned object is drift, because it changes
// what the object means.
func TestAtomicFields(t *testing.T) {
	const labels, more = "{a: b}", "{a: b, c: d}"
	const selector, moreSelected = "{matchLabels: {a: b}}", "{matchLabels: {a: b, c: d}}"
	const profile, moreProfile = "{type: Localhost}", "{type: Localhost, localhostProfile: a}"
	pod := func(text string) string { return `spec: {template: {spec: {` + text + `}}}` }
	for name, tt := range map[string]struct{ kind, format, intent, live string }{
		"selector of a Service":         {"Service", `spec: {selector: %s}`, labels, more},
		"selector of a Deployment":      {"Deployment", `spec: {selector: %s}`, selector, moreSelected},
		"selector of a budget":          {"PodDisruptionBudget", `spec: {selector: %s}`, selector, moreSelected},
		"selector of a policy":          {"NetworkPolicy", `spec: {podSelector: %s}`, selector, moreSelected},
		"rules of a policy":             {"NetworkPolicy", `spec: {ingress: %s}`, "[{}]", "[{}, {ports: [{port: 80}]}]"},
		"rules of an Ingress":           {"Ingress", `spec: {rules: %s}`, "[{host: a}]", "[{host: a}, {host: b}]"},
		"node selector":                 {"Deployment", pod(`nodeSelector: %s`), labels, more},
		"seccomp of a pod":              {"Deployment", pod(`securityContext: {seccompProfile: %s}`), profile, moreProfile},
		"AppArmor of a pod":             {"Deployment", pod(`securityContext: {appArmorProfile: %s}`), profile, moreProfile},
		"seccomp of a container":        {"Deployment", pod(`containers: [{name: a, securityContext: {seccompProfile: %s}}]`), profile, moreProfile},
		"AppArmor of an init container": {"Deployment", pod(`initContainers: [{name: a, securityContext: {appArmorProfile: %s}}]`), profile, moreProfile},
		"required affinity": {"Deployment",
			pod(`affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: %s}]}}`), selector, moreSelected},
		"preferred anti-affinity": {"Deployment",
			pod(`affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, namespaceSelector: %s}}]}}`),
			selector, moreSelected},
		"spread":           {"Deployment", pod(`topologySpreadConstraints: [{topologyKey: zone, labelSelector: %s}]`), selector, moreSelected},
		"ephemeral volume": {"Deployment", pod(`volumes: [{name: a, ephemeral: {volumeClaimTemplate: {spec: {selector: %s}}}}]`), selector, moreSelected},
		"projected volume": {"Deployment", pod(`volumes: [{name: a, projected: {sources: [{clusterTrustBundle: {path: a, labelSelector: %s}}]}}]`), selector, moreSelected},
	} {
		t.Run(name, func(t *testing.T) {
			intent := owned.Intent{Kind: kind(t, tt.kind), Fields: fields(t, fmt.Sprintf(tt.format, tt.intent))}
			for live, want := range map[string]bool{tt.intent: false, tt.live: true} {
				got, err := driftedFields(intent, fields(t, fmt.Sprintf(tt.format, live)))
				if err != nil {
					t.Fatal(err)
				}
				if (len(got) > 0) != want {
					t.Errorf("with %s, the drifted fields are %q", live, got)
				}
			}
		})
	}
}

// TestSignificantFieldsAreWrittenAsTheIntent: the fields that are compared are the fields that are
// written.
func TestSignificantFieldsAreWrittenAsTheIntent(t *testing.T) {
	text := `spec: {template: {spec: {hostNetwork: false, containers: [{name: nginx, args: [], securityContext: {privileged: false}}]}}}`
	intent := owned.Intent{Kind: kind(t, "Deployment"), Fields: fields(t, text)}
	significant, err := significantFields(intent)
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(significant)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []map[string]any{intent.Fields, fields(t, string(written))} {
		if diff := cmp.Diff(fields(t, text), got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
