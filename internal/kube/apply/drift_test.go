package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/desired"
)

// kind returns the owned kind with a name.
func kind(t *testing.T, name string) owned.Kind {
	t.Helper()
	for _, k := range desired.Kinds() {
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
