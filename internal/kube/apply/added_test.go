package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/kube/owned"
)

func TestAdded(t *testing.T) {
	intent := owned.Intent{
		Kind: kind(t, "Deployment"),
		Fields: fields(t, `
spec: {template: {spec: {
  securityContext: {runAsNonRoot: true},
  initContainers: [{name: install}],
  containers: [{name: nginx, securityContext: {capabilities: {drop: [ALL]}}}, {name: "a/b", args: [x]}]}}}`),
	}
	live := fields(t, `
metadata: {annotations: {theirs: x}}
spec: {paused: true, template: {metadata: {labels: {theirs: x}}, spec: {
  hostPID: true, nodeName: n, hostNetwork: true,
  securityContext: {runAsNonRoot: true, fsGroup: 0},
  initContainers: [{name: theirs, args: [x]}, {name: install, securityContext: {privileged: true}}],
  containers: [
    {name: theirs, args: [x], securityContext: {privileged: true}},
    {name: "a/b", args: [y], securityContext: {capabilities: {add: [X]}}},
    {name: nginx, env: [{name: A}], args: [x], securityContext: {runAsUser: 0, capabilities: {drop: [ALL], add: [SYS_ADMIN]}}}]}}}`)
	got := map[string]string{}
	for _, a := range added(intent, live) {
		got[a.path] = a.pointer
	}
	const pod = "spec.template.spec."
	want := map[string]string{
		pod + "hostPID":                 "/spec/template/spec/hostPID",
		pod + "hostNetwork":             "/spec/template/spec/hostNetwork",
		pod + "securityContext.fsGroup": "/spec/template/spec/securityContext/fsGroup",
		pod + "initContainers[install].securityContext.privileged": "/spec/template/spec/initContainers/1/securityContext/privileged",
		pod + "containers[a/b].securityContext.capabilities":       "/spec/template/spec/containers/1/securityContext/capabilities",
		pod + "containers[nginx].args":                             "/spec/template/spec/containers/2/args",
		pod + "containers[nginx].securityContext.runAsUser":        "/spec/template/spec/containers/2/securityContext/runAsUser",
		pod + "containers[nginx].securityContext.capabilities.add": "/spec/template/spec/containers/2/securityContext/capabilities/add",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if none := added(intent, intent.Fields); len(none) > 0 {
		t.Errorf("of what is as it should be: %v", none)
	}
}
