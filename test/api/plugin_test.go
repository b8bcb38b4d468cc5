package api

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin"
)

// kubectlNginx runs the plugin, and returns its exit code and what it prints.
func kubectlNginx(t *testing.T, arguments ...string) (code int, output, errors string) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := plugin.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, "test")
	cmd.SetArgs(append(arguments, "--kubeconfig="+plane.Kubeconfig))
	code = plugin.Run(t.Context(), cmd, &errOut)
	return code, out.String(), errOut.String()
}

// TestPlugin: the commands show what the operator reports, and their exit codes say whether it is ready.
func TestPlugin(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	for name, tt := range map[string]struct {
		arguments []string
		code      int
		output    []string
		errors    string
	}{
		"list":            {[]string{"list", "-n", namespace}, 0, []string{"NAME", "web"}, ""},
		"list all":        {[]string{"list", "-A"}, 0, []string{"NAMESPACE", namespace}, ""},
		"list none":       {[]string{"list", "-n", namespace, "-l", "team=shop"}, 0, []string{"No applications found"}, ""},
		"bad selector":    {[]string{"list", "-l", "a==b==c"}, 1, nil, "--selector"},
		"status":          {[]string{"status", "web", "-n", namespace}, 2, []string{"Application:   " + namespace + "/web", "Ready:         no, 0 of 1 pods", "Accepted"}, ""},
		"history":         {[]string{"history", "web", "-n", namespace}, 0, []string{"REVISION", "first rollout"}, ""},
		"tree":            {[]string{"tree", "web", "-n", namespace}, 0, []string{"NginxOperator/web", "├─Deployment/web", "Service/web"}, ""},
		"unknown name":    {[]string{"status", "none", "-n", namespace}, 1, nil, "there is no NginxOperator none in namespace " + namespace},
		"no name":         {[]string{"status", "-n", namespace}, 1, nil, "accepts 1 arg(s), received 0"},
		"unknown command": {[]string{"sttus"}, 1, nil, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			code, output, errors := kubectlNginx(t, tt.arguments...)
			if code != tt.code || !strings.Contains(errors, tt.errors) || (errors == "") != (tt.errors == "") {
				t.Errorf("exit code %d, want %d; errors: %q", code, tt.code, errors)
			}
			for _, text := range tt.output {
				if !strings.Contains(output, text) {
					t.Errorf("the output lacks %q:\n%s", text, output)
				}
			}
		})
	}
}

// TestPluginRights: what the user may not read is named, and the rest is shown.
func TestPluginRights(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	if code, _, errors := kubectlNginx(t, "status", "web", "-n", namespace, "--as=viewer"); code != 3 || !strings.Contains(errors, "forbidden") {
		t.Errorf("without any right: exit code %d, %q", code, errors)
	}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "viewer"}
	must(t, kube.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"operator.example.com"}, Resources: []string{"nginxoperators"}, Verbs: []string{"get"}},
		{APIGroups: []string{corev1.GroupName}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	}}))
	must(t, kube.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta,
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "viewer"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "viewer"}},
	}))
	eventually(t, "the rights are in force", func() error {
		code, output, errors := kubectlNginx(t, "status", "web", "-n", namespace, "--as=viewer")
		if want := "Not shown, because you may not read it: controllerrevisions.apps, events.events.k8s.io."; code != 2 || !strings.Contains(output, want) {
			return fmt.Errorf("exit code %d: %s%s", code, output, errors)
		}
		return nil
	})
}

// TestPluginEdits: each command makes its change, and nothing else.
func TestPluginEdits(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{Rollout: &v1alpha2.Rollout{MinReadySeconds: new(int32(1))}})
	for _, tt := range []struct {
		command string
		code    int
		says    string
		want    func(s *v1alpha2.NginxOperatorSpec)
	}{
		{"scale web 3 --dry-run", 0, "web: scaled to 3 pods (dry run)", func(*v1alpha2.NginxOperatorSpec) {}},
		{"scale web 3", 0, "web: scaled to 3 pods", func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(3)) }},
		{"scale web many", 1, "set it to a number from 0", func(*v1alpha2.NginxOperatorSpec) {}},
		{"scale web 1001", 3, "less than or equal to 1000", func(*v1alpha2.NginxOperatorSpec) {}},
		{"set image web nginx:1.30", 0, "image set to nginx:1.30", func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:1.30") }},
		{"set image web a:b:c!", 3, "must be an image reference", func(*v1alpha2.NginxOperatorSpec) {}},
		{"suspend web", 0, "suspended", func(s *v1alpha2.NginxOperatorSpec) { s.Suspend = new(true) }},
		{"resume web", 0, "resumed", func(s *v1alpha2.NginxOperatorSpec) { s.Suspend = nil }},
		{"unpin web", 1, "not pinned to a revision", func(*v1alpha2.NginxOperatorSpec) {}},
		{"rollback web last", 1, "kubectl nginx history web", func(*v1alpha2.NginxOperatorSpec) {}},
		{"rollback web 1", 0, "rolled back to revision 1", func(s *v1alpha2.NginxOperatorSpec) { s.Rollout.ToRevision = new(int64(1)) }},
		{"unpin web", 0, "unpinned", func(s *v1alpha2.NginxOperatorSpec) { s.Rollout.ToRevision = nil }},
		{"approve web backup", 1, "no rollout of web waits for a gate", func(*v1alpha2.NginxOperatorSpec) {}},
		// No pods start here.
		{"scale web 2 --wait --timeout=3s", 2, "not ready in time: see kubectl nginx status web", func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(2)) }},
	} {
		t.Run(tt.command, func(t *testing.T) {
			must(t, get(t, nginx))
			want := nginx.Spec.DeepCopy()
			tt.want(want)
			code, output, errors := kubectlNginx(t, append(strings.Fields(tt.command), "-n", namespace)...)
			if code != tt.code || !strings.Contains(output+errors, tt.says) {
				t.Errorf("exit code %d, want %d: %s%s", code, tt.code, output, errors)
			}
			must(t, get(t, nginx))
			if diff := cmp.Diff(want, &nginx.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
