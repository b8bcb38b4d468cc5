//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin"
	"example.com/nginx-operator/test/internal/kubetest"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/testenv"
)

// kubectlNginx runs the plugin, and returns its exit code and what it prints.
func kubectlNginx(t *testing.T, arguments ...string) (code int, output string) {
	t.Helper()
	var out bytes.Buffer
	cmd := plugin.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}, "test")
	cmd.SetArgs(arguments)
	code = plugin.Run(t.Context(), cmd, &out)
	return code, out.String()
}

// commandRights is a row of the table of rights in docs/kubectl-nginx.md.
type commandRights struct {
	command string
	// needs are the rights without which the command is refused, more those without which it shows less, for which it may need
	// those in instead.
	needs, more, instead []string
}

// rightsTable reads the table.
func rightsTable(t *testing.T) []commandRights {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testenv.Root(), "docs", "kubectl-nginx.md"))
	must(t, err)
	_, section, _ := strings.Cut(string(text), "\n| command | needs | shows more with |\n")
	var table []commandRights
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]*\\|([^|]*)\\|([^|]*)\\|$").FindAllStringSubmatch(section, -1) {
		split := func(cell string) []string {
			if strings.TrimSpace(cell) == "" {
				return nil
			}
			rights := strings.Split(cell, ";")
			for i := range rights {
				rights[i] = strings.TrimSpace(rights[i])
			}
			return rights
		}
		more, instead, _ := strings.Cut(row[3], ", else ")
		table = append(table, commandRights{row[1], split(row[2]), split(more), split(instead)})
	}
	if len(table) < 15 {
		t.Fatalf("docs/kubectl-nginx.md has only %d rows of rights", len(table))
	}
	return table
}

// groups are the API groups of resources that are not of the core.
var groups = map[string]string{
	"nginxoperators": "operator.example.com", "nginxbackups": "backup.operator.example.com", "nginxbackuppolicies": "backup.operator.example.com",
	"nginxrestores": "backup.operator.example.com", "controllerrevisions": "apps", "deployments": "apps", "events": "events.k8s.io",
	"horizontalpodautoscalers": "autoscaling",
}

// permit gives a user exactly these rights: those for nodes in the cluster, all others in the namespace.
func permit(t *testing.T, namespace, user string, rights []string) {
	t.Helper()
	var rules, clusterRules []rbacv1.PolicyRule
	for _, right := range rights {
		verb, resource, _ := strings.Cut(right, " ")
		rule := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{groups[resource]}, Resources: []string{resource}}
		if resource == "nodes" {
			clusterRules = append(clusterRules, rule)
			continue
		}
		rules = append(rules, rule)
	}
	named := metav1.ObjectMeta{Namespace: namespace, Name: user}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	must(t, kube.Create(t.Context(), &rbacv1.Role{ObjectMeta: named, Rules: rules}))
	must(t, kube.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: named, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user}}))
	if len(clusterRules) > 0 {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: clusterRules}
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}}
		must(t, kube.Create(t.Context(), role))
		cleanup(t, func(ctx context.Context) error { return kube.Delete(ctx, role) })
		must(t, kube.Create(t.Context(), binding))
		cleanup(t, func(ctx context.Context) error { return kube.Delete(ctx, binding) })
	}
}

// lessIsShown reports whether an output says that something is left out.
func lessIsShown(output string) bool {
	return slices.ContainsFunc([]string{"Not shown, because you may not read it", "Showing the stable configuration", "not included", "cannot be read"}, func(text string) bool {
		return strings.Contains(output, text)
	})
}

// TestPluginRights: each command works with the rights that the documents name, is refused without one that it needs, and
// says that it shows less without another one.
func TestPluginRights(t *testing.T) {
	namespace := newNamespace(t)
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello"}}
	authority, err := load.NewAuthority()
	must(t, err)
	pair, err := authority.Issue("hello.example.com", time.Hour)
	must(t, err)
	must(t, kube.Create(t.Context(), tlsSecret(namespace, "site", pair)))
	nginx.Spec.TLS = []v1alpha2.Certificate{{Name: "site", SecretName: "site"}}
	nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "server { listen 80; location / { return 200; } }"}}
	must(t, kube.Create(t.Context(), nginx))
	if code, output := kubectlNginx(t, "scale", "hello", "1", "--wait", "--timeout=4m", "-n", namespace); code != 0 {
		t.Fatalf("the application is not ready: %s", output)
	}
	// It never completes, for lack of a claim.
	backup := &backupv1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello-1"}}
	backup.Spec.Target.Name, backup.Spec.Destination.URL = "hello", "pvc://none"
	must(t, kube.Create(t.Context(), backup))
	folder, poll := t.TempDir(), kubetest.Poll{Interval: pause, Timeout: 30 * time.Second}
	site := filepath.Join(folder, "site.conf")
	must(t, os.WriteFile(site, []byte("server { listen 80; location / { return 204; } }"), 0o600))
	waiting, suspended := createWaiting(t, namespace), createSuspended(t, namespace)
	for i, row := range rightsTable(t) {
		t.Run(row.command, func(t *testing.T) {
			// A check of rights that the command does not have changes nothing.
			arguments := strings.Fields(strings.NewReplacer("site.conf", site, "BACKUP", backup.Name, "GATE", "approval").Replace(row.command))
			switch arguments[0] {
			case "scale", "rollback":
				arguments = append(arguments, "--timeout=1m")
			case "approve", "promote", "abort":
				arguments[1] = waiting
				arguments = append(arguments, "--dry-run")
			case "resume":
				arguments[1] = suspended
				arguments = append(arguments, "--dry-run")
			case "backup", "set", "restart", "pause", "suspend", "maintenance", "unpin":
				// The same change is requested several times, with other rights.
				arguments = append(arguments, "--dry-run")
			}
			all := slices.Concat(row.needs, row.more)
			for j := -1; j < len(all); j++ {
				user, rights := fmt.Sprintf("user-%d-%d", i, j+1), slices.Concat(all, row.instead)
				if j >= 0 {
					rights = slices.Delete(rights, j, j+1)
				}
				permit(t, namespace, namespace+"-"+user, rights)
				// A new right takes effect within a second.
				poll.Eventually(t, row.command+" with "+strings.Join(rights, "; "), func() error {
					command := slices.Concat(arguments, []string{"-n", namespace, "--as=" + namespace + "-" + user})
					if arguments[0] == "report" {
						command = append(command, "-f", filepath.Join(t.TempDir(), "report.tar.gz"))
					}
					code, output := kubectlNginx(t, command...)
					return row.check(j, code, output)
				})
			}
		})
	}
}

// createWaiting creates an application whose second rollout waits for the gate approval, and returns its name.
func createWaiting(t *testing.T, namespace string) string {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "waiting"}}
	nginx.Spec.Rollout = &v1alpha2.Rollout{Gates: []string{"approval"}}
	must(t, kube.Create(t.Context(), nginx))
	waitReady(t, nginx)
	if code, output := kubectlNginx(t, "restart", nginx.Name, "-n", namespace); code != 0 {
		t.Fatalf("the application is not restarted: %s", output)
	}
	waitCondition(t, nginx, v1alpha2.ConditionUpToDate, metav1.ConditionFalse, v1alpha2.ReasonWaitingForGate)
	return nginx.Name
}

// createSuspended creates an application that is suspended, and returns its name.
func createSuspended(t *testing.T, namespace string) string {
	t.Helper()
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "suspended"}}
	nginx.Spec.Suspend = new(true)
	must(t, kube.Create(t.Context(), nginx))
	return nginx.Name
}

// check checks the outcome of a command without the right of an index; -1: with all.
func (r commandRights) check(without, code int, output string) error {
	outcome := fmt.Errorf("exit code %d: %s", code, output)
	switch {
	case without < 0:
		// These two read more kinds than their rows name.
		partly := r.command == "tree hello" || r.command == "report hello"
		if code != 0 || lessIsShown(output) && !partly {
			return outcome
		}
	case without < len(r.needs):
		if code != 3 && !strings.Contains(output, "forbidden") {
			return errors.Join(errors.New("it is not refused"), outcome)
		}
	case code != 0 || !lessIsShown(output):
		return errors.Join(errors.New("it does not say that it shows less"), outcome)
	}
	return nil
}
