package api

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin"
	"example.com/nginx-operator/test/internal/tarfile"
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
		command string
		code    int
		output  []string
		errors  string
	}{
		"list":               {"list", 0, []string{"NAME", "web"}, ""},
		"list all":           {"list -A", 0, []string{"NAMESPACE", namespace}, ""},
		"list wide":          {"list -o wide", 0, []string{"MESSAGE", "0 of 1 pods are up to date"}, ""},
		"list as names":      {"list -o name", 0, []string{"nginxoperator.operator.example.com/web\n"}, ""},
		"list as JSON":       {"list -o json", 0, []string{`"name": "web"`}, ""},
		"list none":          {"list -l team=shop", 0, []string{"No applications found"}, ""},
		"list a state":       {"list --state progressing,ready", 0, []string{"web"}, ""},
		"list no state":      {"list --state suspended", 0, []string{"None of 1 applications matches."}, ""},
		"list bad state":     {"list --state broken", 1, nil, "set it to some of [notReady waiting progressing suspended ready]"},
		"list traffic":       {"list --traffic", 0, []string{"REQ/S", "web"}, ""},
		"list by errors":     {"list --sort-by errors -A", 0, []string{"NAMESPACE", "REQ/S"}, ""},
		"list traffic JSON":  {"list --traffic -o json", 0, []string{`"application": {`, `"total": 1`}, ""},
		"list the busy":      {"list --min-requests 1", 0, []string{"None of 1 applications matches."}, ""},
		"list bad order":     {"list --sort-by size", 1, nil, "set it to state, name, age, requests, errors or latency"},
		"list bad share":     {"list --min-errors 101", 1, nil, "set it to a percentage from 0 to 100"},
		"list no share":      {"list --min-errors NaN", 1, nil, "set it to a percentage from 0 to 100"},
		"list no rate":       {"list --min-requests nan", 1, nil, "set it to a number of requests a second from 0"},
		"list bad rate":      {"list --min-requests -1", 1, nil, "set it to a number of requests a second from 0"},
		"list bad bound":     {"list --max-pods 0 --traffic", 1, nil, "set it to a number from 1"},
		"top bad order":      {"top --sort-by age", 1, nil, "set it to requests, errors, latency, connections, memory or name"},
		"top of labels":      {"top -l team=shop --interval=1s", 0, []string{"No pods found"}, ""},
		"top of two":         {"top web -l team=shop", 1, nil, "NAME and --selector exclude each other"},
		"bad selector":       {"list -l a==b==c", 1, nil, "--selector"},
		"bad format":         {"list -o table", 1, nil, "set it to json, yaml, name or wide"},
		"status":             {"status web", 2, []string{"Application:   " + namespace + "/web", "Ready:         no, 0 of 1 pods", "Accepted"}, ""},
		"status as YAML":     {"status web -o yaml", 2, []string{"application:\n", "    name: web\n"}, ""},
		"explain":            {"explain web", 2, []string{namespace + "/web is not ready: 0 of 1 pods serve.", "1. Pods are being replaced (UpToDate: RolloutInProgress", "kubectl nginx status web -w -n " + namespace}, ""},
		"explain as JSON":    {"explain web -o json", 2, []string{`"reason": "RolloutInProgress"`}, ""},
		"history":            {"history web", 0, []string{"REVISION", "first rollout"}, ""},
		"history as JSON":    {"history web -o json", 0, []string{`"revision": 1`, `"cause": "first rollout"`}, ""},
		"diff":               {"diff web 1", 0, []string{"revision 1 and revision 1 are the same."}, ""},
		"diff of none":       {"diff web 1 9", 1, nil, "has no revision 9: kubectl nginx history web"},
		"tree":               {"tree web", 0, []string{"NginxOperator/web", "├─Deployment/web", "Service/web"}, ""},
		"tree as names":      {"tree web -o name", 0, []string{"deployment/web\n"}, ""},
		"top":                {"top --interval=1s", 0, []string{"No pods found"}, ""},
		"top of one":         {"top web --interval=1s", 0, []string{"The application has no pods."}, ""},
		"top too often":      {"top --interval=1ms", 1, nil, "set it to at least 1s"},
		"logs":               {"logs web", 1, nil, "web has no pods: kubectl nginx explain web"},
		"logs of a bad code": {"logs web --status=abc", 1, nil, "set it to a status or a class"},
		"logs of bad lines":  {"logs web --tail -5", 1, nil, "set it to a number of lines from 0, or to -1 for all"},
		"logs of the future": {"logs web --since -1s", 1, nil, "set it to a duration from 0"},
		"certs as JSON":      {"certs -o json", 0, []string{"[]\n"}, ""},
		"config show":        {"config show web", 0, []string{"# stable configuration", "# --- default.conf", "listen 80"}, "Showing the stable configuration"},
		"config diff":        {"config diff web --from=stable", 0, []string{"are the same."}, ""},
		"config test":        {"config test web -f /none", 2, nil, "no pod of web is ready to test a configuration"},
		"config test none":   {"config test web", 1, nil, "--filename is missing"},
		"certs":              {"certs", 0, []string{"No application has a certificate"}, ""},
		"backups":            {"backups", 0, []string{"There are no backups"}, ""},
		"backup to nowhere":  {"backup web", 1, nil, "say where with --destination"},
		"backup":             {"backup web --destination=pvc://backups --dry-run", 0, []string{"created (dry run)"}, ""},
		"backup to a user":   {"backup web --destination=s3://user@x --dry-run", 3, nil, "credentials belong in destination.secret"},
		"unknown name":       {"status none", 1, nil, "there is no NginxOperator none in namespace " + namespace},
		"no name":            {"status", 1, nil, "accepts 1 arg(s), received 0"},
		"unknown command":    {"sttus", 1, nil, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			code, output, failure := kubectlNginx(t, append(strings.Fields(tt.command), "-n", namespace)...)
			if code != tt.code || !strings.Contains(failure, tt.errors) || (failure == "") != (tt.errors == "") {
				t.Errorf("exit code %d, want %d; errors: %q", code, tt.code, failure)
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
	if code, _, failure := kubectlNginx(t, "status", "web", "-n", namespace, "--as=viewer"); code != 3 || !strings.Contains(failure, "forbidden") {
		t.Errorf("without any right: exit code %d, %q", code, failure)
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
		code, output, failure := kubectlNginx(t, "status", "web", "-n", namespace, "--as=viewer")
		if want := "Not shown, because you may not read it: controllerrevisions.apps, events.events.k8s.io, nginxbackups.backup.operator.example.com, horizontalpodautoscalers.autoscaling."; code != 2 || !strings.Contains(output, want) {
			return fmt.Errorf("exit code %d: %s%s", code, output, failure)
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
		{"rollback web", 1, "no earlier revision", func(*v1alpha2.NginxOperatorSpec) {}},
		{"abort web", 1, "has served no revision yet", func(*v1alpha2.NginxOperatorSpec) {}},
		{"promote web", 1, "waits for a gate or runs a canary", func(*v1alpha2.NginxOperatorSpec) {}},
		{"maintenance web off", 1, "not in maintenance", func(*v1alpha2.NginxOperatorSpec) {}},
		{"rollback web last", 1, "kubectl nginx history web", func(*v1alpha2.NginxOperatorSpec) {}},
		// No pods start here, so none has served it.
		{"rollback web 1", 1, "no revision 1 that every pod has served", func(*v1alpha2.NginxOperatorSpec) {}},
		{"approve web backup", 1, "no rollout of web waits for a gate", func(*v1alpha2.NginxOperatorSpec) {}},
		{"scale web 2 --wait --timeout=3s", 2, "not ready in time: see kubectl nginx status web", func(s *v1alpha2.NginxOperatorSpec) { s.Replicas = new(int32(2)) }},
	} {
		t.Run(tt.command, func(t *testing.T) { checkEdit(t, nginx, tt.command, tt.code, tt.says, tt.want) })
	}
}

// checkEdit runs a command, and fails unless it changes the spec as want does.
func checkEdit(t *testing.T, nginx *v1alpha2.NginxOperator, command string, code int, says string, want func(s *v1alpha2.NginxOperatorSpec)) {
	t.Helper()
	must(t, get(t, nginx))
	wanted := nginx.Spec.DeepCopy()
	want(wanted)
	got, output, failure := kubectlNginx(t, append(strings.Fields(command), "-n", nginx.Namespace)...)
	if got != code || !strings.Contains(output+failure, says) {
		t.Errorf("%s: exit code %d, want %d: %s%s", command, got, code, output, failure)
	}
	must(t, get(t, nginx))
	if diff := cmp.Diff(wanted, &nginx.Spec); diff != "" {
		t.Errorf("%s: -want +got:\n%s", command, diff)
	}
}

// TestPluginRollback: an application returns to the revision that served before, stays there, and leaves it when it is told to.
func TestPluginRollback(t *testing.T) {
	r := newRolled(t, v1alpha2.NginxOperatorSpec{Image: new("nginx:1")})
	serves := func(image string) {
		t.Helper()
		eventually(t, "the pods run "+image, func() error {
			if running := r.prepare(); running != image {
				return fmt.Errorf("they run %s", running)
			}
			return nil
		})
		r.waitReady()
	}
	pinned := func(s *v1alpha2.NginxOperatorSpec) { s.Rollout = &v1alpha2.Rollout{ToRevision: new(int64(1))} }
	serves("nginx:1")
	checkEdit(t, r.nginx, "set image web nginx:2", 0, "image set to nginx:2", func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:2") })
	serves("nginx:2")
	checkEdit(t, r.nginx, "rollback web", 0, "returning to revision 1", pinned)
	serves("nginx:1")
	checkEdit(t, r.nginx, "set image web nginx:3", 0, "stay at revision 1 until kubectl nginx unpin web", func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:3") })
	checkEdit(t, r.nginx, "rollback web 3", 1, "no revision 3", func(*v1alpha2.NginxOperatorSpec) {})
	checkEdit(t, r.nginx, "unpin web", 0, "unpinned", func(s *v1alpha2.NginxOperatorSpec) { s.Rollout = nil })
	serves("nginx:3")
}

// TestPluginPromoteAndAbort: a rollout that waits for a gate, or runs a canary, is continued and ended as docs/kubectl-nginx.md and
// docs/rollouts.md do it, and --wait waits for the end.
func TestPluginPromoteAndAbort(t *testing.T) {
	for name, tt := range map[string]struct {
		rollout v1alpha2.Rollout
		reason  string
	}{
		"gate":   {v1alpha2.Rollout{Gates: []string{gate}}, v1alpha2.ReasonWaitingForGate},
		"canary": {v1alpha2.Rollout{Canary: &v1alpha2.Canary{DurationSeconds: new(int32(3600))}}, v1alpha2.ReasonCanaryRunning},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRolled(t, v1alpha2.NginxOperatorSpec{Rollout: &tt.rollout})
			redeploy := func(value string) {
				t.Helper()
				r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.ForceRedeploy = &value })
				waitCondition(t, r.nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, tt.reason)
			}
			ends := func(command, reason string) {
				t.Helper()
				if code, output, failure := kubectlNginx(t, command, r.nginx.Name, "--wait", "--timeout=2m", "-n", r.nginx.Namespace); code != 0 {
					t.Fatalf("%s: exit code %d: %s%s", command, code, output, failure)
				}
				waitCondition(t, r.nginx, v1alpha2.ConditionUpToDate, metav1.ConditionTrue, reason)
			}
			redeploy("promoted")
			ends("promote", v1alpha2.ReasonRolledOut)
			redeploy("aborted")
			ends("abort", v1alpha2.ReasonPinned)
			r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Rollout, s.ForceRedeploy = nil, new("promoted") })
			waitCondition(t, r.nginx, v1alpha2.ConditionUpToDate, metav1.ConditionTrue, v1alpha2.ReasonRolledOut)
			if _, err := r.pods(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPluginReport: the archive has what support needs, and none of the secrets that are in the objects.
func TestPluginReport(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", v1alpha2.NginxOperatorSpec{
		PodTemplate: &v1alpha2.PodTemplate{Env: []corev1.EnvVar{{Name: "X", Value: "hunter2-env"}}},
		Config: &v1alpha2.Config{
			Files: map[string]v1alpha2.ConfigFile{"site.conf": "server { listen 80; location / { proxy_set_header Authorization \"Bearer hunter2-header\"; return 200 \"${BACKEND}\"; } }"},
			Env:   []v1alpha2.ConfigEnvVar{{Name: "BACKEND", Value: new("hunter2-variable")}},
		},
	})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	eventually(t, "the first revision is recorded", func() error {
		if _, output, _ := kubectlNginx(t, "history", "web", "-n", namespace); !strings.Contains(output, "first rollout") {
			return fmt.Errorf("history: %s", output)
		}
		return nil
	})
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	if code, output, failure := kubectlNginx(t, "report", "web", "-n", namespace, "-f", file); code != 0 || !strings.Contains(output, "review it before you send it") {
		t.Fatalf("exit code %d: %s%s", code, output, failure)
	}
	files, err := tarfile.Read(file)
	must(t, err)
	for _, name := range []string{"nginxoperator.yaml", "deployment.yaml", "configmap.yaml", "controllerrevision.yaml", "status.txt", "explain.txt", "history.txt"} {
		if text := files["applications/"+namespace+"/web/"+name]; text == "" {
			t.Errorf("the report lacks %s: %v", name, slices.Sorted(maps.Keys(files)))
		}
	}
	for name, text := range files {
		if strings.Contains(text, "hunter2") {
			t.Errorf("%s has a secret:\n%s", name, text)
		}
	}
	if code, _, failure := kubectlNginx(t, "report", "web", "-n", namespace, "-f", file); code != 1 || !strings.Contains(failure, "exists") {
		t.Errorf("a file is replaced: exit code %d, %s", code, failure)
	}
}
