package plugin

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/kubetest"
)

// TestConfigDiffOfWaitingRollout: the requested configuration is the one that the spec declares while its rollout waits, although
// the operator renders the running one.
func TestConfigDiffOfWaitingRollout(t *testing.T) {
	namespace := newNamespace(t)
	createConfig(t, namespace, "edited", "# waits")
	inline := &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "# waits"}}
	named := func(name string) *v1alpha2.Config {
		return &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: name}}
	}
	for name, tt := range map[string]struct {
		config     *v1alpha2.Config
		pinned     bool
		conditions []metav1.Condition
		code       int
		says       string
	}{
		"paused":            {inline, false, []metav1.Condition{upToDate(v1alpha2.ReasonRolloutPaused)}, 0, "+# waits"},
		"gate":              {inline, false, []metav1.Condition{upToDate(v1alpha2.ReasonWaitingForGate)}, 0, "+# waits"},
		"gate-of-configmap": {named("edited"), false, []metav1.Condition{upToDate(v1alpha2.ReasonWaitingForGate)}, 0, "+# waits"},
		"missing-configmap": {named("none"), false, []metav1.Condition{upToDate(v1alpha2.ReasonWaitingForGate)}, 1, "ConfigMap none, named by spec.config of missing-configmap, does not exist"},
		"pinned":            {inline, true, []metav1.Condition{upToDate(v1alpha2.ReasonRolloutPaused)}, 0, "are the same."},
		"in-progress":       {inline, false, []metav1.Condition{upToDate(v1alpha2.ReasonRolloutInProgress)}, 0, "are the same."},
		"built-in":          {nil, false, []metav1.Condition{upToDate(v1alpha2.ReasonWaitingForGate)}, 0, "are the same."},
		"to-built-in": {nil, false, []metav1.Condition{upToDate(v1alpha2.ReasonWaitingForGate),
			{Type: v1alpha2.ConditionConfigValid, Status: metav1.ConditionUnknown, Reason: v1alpha2.ReasonConfigPending}}, 1, "only the operator can render that: kubectl nginx explain to-built-in"},
	} {
		t.Run(name, func(t *testing.T) {
			nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha2.NginxOperatorSpec{Config: tt.config}}
			if tt.pinned {
				nginx.Spec.Rollout = &v1alpha2.Rollout{ToRevision: new(int64(1))}
			}
			createWaiting(t, nginx, tt.conditions...)
			kubectlNginx(t, "config diff "+name+" --from=stable -n "+namespace).want(t, tt.code, tt.says)
		})
	}
}

// TestConfigDiffForbidden: a user who may not read the ConfigMap of the spec is told which one has the running configuration.
func TestConfigDiffForbidden(t *testing.T) {
	namespace := newNamespace(t)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	nginx.Spec.Config = &v1alpha2.Config{ConfigMap: &v1alpha2.ConfigMapReference{Name: "edited"}}
	createWaiting(t, nginx, upToDate(v1alpha2.ReasonWaitingForGate))
	named := metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}
	must(t, kube.Create(t.Context(), &rbacv1.Role{ObjectMeta: named, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha2.GroupVersion.Group}, Resources: []string{"nginxoperators"}, Verbs: []string{"get"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"configmaps"}, Verbs: []string{"get"}, ResourceNames: []string{naming.ConfigMap("web")}},
	}}))
	must(t, kube.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: named,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "viewer"}},
	}))
	kubetest.Poll{Interval: 20 * time.Millisecond, Timeout: 30 * time.Second}.Eventually(t, "the rights are in force", func() error {
		got := run(t, plane.Kubeconfig, io.Discard, "config", "diff", "web", "--from=stable", "-n", namespace, "--as=viewer")
		if want := "is in ConfigMap edited, which you may not read (get configmaps); ConfigMap web-config-next has the running one"; got.code != 3 || !strings.Contains(got.errors, want) {
			return errors.New(fmt.Sprint(got))
		}
		return nil
	})
}

// createWaiting creates an application that runs a configuration, with conditions.
func createWaiting(t *testing.T, nginx *v1alpha2.NginxOperator, conditions ...metav1.Condition) {
	t.Helper()
	must(t, kube.Create(t.Context(), nginx))
	for _, c := range conditions {
		reportCondition(t, nginx, c)
	}
	createConfig(t, nginx.Namespace, naming.ConfigMap(nginx.Name), "# runs")
	createConfig(t, nginx.Namespace, naming.ConfigMapNext(nginx.Name), "# runs")
}

func upToDate(reason string) metav1.Condition {
	return metav1.Condition{Type: v1alpha2.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: reason}
}

// createConfig creates a ConfigMap with one file.
func createConfig(t *testing.T, namespace, name, text string) {
	t.Helper()
	created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"site.conf": text + "\n"}}
	must(t, kube.Create(t.Context(), created))
}
