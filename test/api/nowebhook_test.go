package api

import (
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// TestWithoutTheWebhook: while no operator converts, clients of v1alpha1 get an error that says so, and clients of v1alpha2
// can do everything with objects that only clients of v1alpha2 have written. Nothing is lost.
func TestWithoutTheWebhook(t *testing.T) {
	namespace := newNamespace(t)
	applyAs := func(version, owner, name, spec string) error {
		obj := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal([]byte(`{apiVersion: operator.example.com/`+version+`, kind: NginxOperator, spec: `+spec+`}`), obj))
		obj.SetNamespace(namespace)
		obj.SetName(name)
		return kube.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(owner))
	}
	must(t, applyAs("v1alpha2", "new", "new", `{replicas: 2}`))
	must(t, applyAs("v1alpha1", "old", "old", `{replicas: 2}`))
	must(t, applyAs("v1alpha2", "new", "old", `{config: {files: {a.conf: "server {}"}}}`))
	waitObserved(t, asV1Alpha2(namespace, "new"))
	waitObserved(t, asV1Alpha2(namespace, "old"))
	running.stop()
	restart := sync.OnceFunc(func() { running = startOperator() })
	defer restart()

	const want = "conversion webhook for operator.example.com/v1alpha2"
	old := asV1Alpha1(namespace, "new")
	for what, err := range map[string]error{
		"read":   get(t, old),
		"create": kube.Create(t.Context(), asV1Alpha1(namespace, "other")),
		"change": kube.Patch(t.Context(), old, merge(`{"spec":{"replicas":3}}`)),
		"apply":  applyAs("v1alpha1", "old", "old", `{replicas: 3}`),
	} {
		if err == nil || !strings.Contains(err.Error(), "conversion webhook for operator.example.com/v1alpha") {
			t.Errorf("%s as v1alpha1: %v, want %q", what, err, want)
		}
	}
	nginx := asV1Alpha2(namespace, "new")
	must(t, get(t, nginx))
	nginx.Spec.Replicas = new(int32(4))
	must(t, kube.Update(t.Context(), nginx))
	must(t, applyAs("v1alpha2", "new", "new", `{replicas: 4, forceRedeploy: a}`))
	must(t, kube.List(t.Context(), &v1alpha2.NginxOperatorList{}, client.InNamespace(namespace)))
	// The API server converts the object to find out who has set which field.
	shared := asV1Alpha2(namespace, "old")
	must(t, get(t, shared))
	t.Logf("a change of an object of a client of v1alpha1: %v", kube.Patch(t.Context(), shared, merge(`{"spec":{"forceRedeploy":"a"}}`)))
	t.Logf("an apply: %v", applyAs("v1alpha2", "new", "old", `{config: {files: {a.conf: "server { }"}}}`))
	must(t, kube.Delete(t.Context(), shared))

	restart()
	must(t, plane.WaitForConversion(t.Context()))
	again := &v1alpha1.NginxOperator{}
	must(t, kube.Get(t.Context(), client.ObjectKeyFromObject(nginx), again))
	if *again.Spec.Replicas != 4 {
		t.Errorf("%d replicas", *again.Spec.Replicas)
	}
}
