package plugin

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestStatusExitCodes: scripts learn from the exit code of status and explain whether an application is ready.
func TestStatusExitCodes(t *testing.T) {
	namespace := newNamespace(t)
	create(t, namespace, "ready", metav1.ConditionTrue, "")
	create(t, namespace, "broken", metav1.ConditionFalse, "nginx refused the configuration")
	create(t, namespace, "unknown", metav1.ConditionUnknown, "no pod answers")
	changed := create(t, namespace, "changed", metav1.ConditionTrue, "")
	changed.Spec.Replicas = new(int32(3))
	must(t, kube.Update(t.Context(), changed))
	must(t, kube.Create(t.Context(), &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "new"}}))
	for arguments, want := range map[string]struct {
		code int
		says string
	}{
		"ready":               {0, namespace + "/ready"},
		"broken":              {2, namespace + "/broken"},
		"unknown":             {2, namespace + "/unknown"},
		"changed":             {2, namespace + "/changed"},
		"new":                 {2, namespace + "/new"},
		"missing":             {1, "there is no NginxOperator missing"},
		"ready --as=nobody":   {3, "forbidden"},
		"missing --as=nobody": {3, "forbidden"},
	} {
		for _, command := range []string{"status ", "explain "} {
			t.Run(command+arguments, func(t *testing.T) {
				kubectlNginx(t, command+arguments+" -n "+namespace).want(t, want.code, want.says)
			})
		}
	}
}
