package api

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin"
)

// completions returns what the shell shows for arguments, of which the last one is incomplete.
func completions(t *testing.T, arguments ...string) []string {
	t.Helper()
	return completionsOf(t, "--kubeconfig="+plane.Kubeconfig, arguments...)
}

func completionsOf(t *testing.T, cluster string, arguments ...string) []string {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := plugin.NewCommand(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, "test")
	cmd.SetArgs(append([]string{"__complete", cluster}, arguments...))
	if code := plugin.Run(t.Context(), cmd, &errOut); code != 0 {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if last := lines[len(lines)-1]; last != ":4" {
		t.Errorf("the shell gets the directive %q, want no files", last)
	}
	return lines[:len(lines)-1]
}

// TestPluginCompletion: the shell completes names, namespaces, revisions and gates.
func TestPluginCompletion(t *testing.T) {
	r := newRolled(t, gatedSpec("nginx:1"))
	r.prepare()
	namespace, name := r.nginx.Namespace, r.nginx.Name
	create(t, namespace, "zebra", v1alpha2.NginxOperatorSpec{Suspend: new(true)})
	must(t, kube.Create(t.Context(), &backupv1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "saved"}, Spec: backupv1alpha1.NginxBackupSpec{
		Target: backupv1alpha1.TargetReference{Name: name}, Destination: backupv1alpha1.Destination{URL: "pvc://backups"},
	}}))
	r.changeSpec(func(s *v1alpha2.NginxOperatorSpec) { s.Image = new("nginx:2") })
	r.waitWaiting()
	for about, tt := range map[string]struct {
		arguments []string
		want      []string
	}{
		"names":                 {[]string{"status", "-n", namespace, ""}, []string{name, "zebra"}},
		"the beginning":         {[]string{"tree", "-n", namespace, "zeb"}, []string{"zebra"}},
		"no match":              {[]string{"status", "-n", namespace, "x"}, nil},
		"no second name":        {[]string{"status", "-n", namespace, "zebra", ""}, nil},
		"a command below set":   {[]string{"set", "image", "-n", namespace, "z"}, []string{"zebra"}},
		"a number":              {[]string{"scale", "-n", namespace, "zebra", ""}, nil},
		"namespaces":            {[]string{"status", "-n", namespace[:len(namespace)-1]}, []string{namespace}},
		"backups":               {[]string{"restore", "-n", namespace, ""}, []string{"saved"}},
		"words":                 {[]string{"maintenance", "-n", namespace, name, "of"}, []string{"off"}},
		"gates":                 {[]string{"approve", "-n", namespace, name, ""}, []string{gate}},
		"no gates":              {[]string{"approve", "-n", namespace, "zebra", ""}, nil},
		"gates of nothing":      {[]string{"approve", "-n", namespace, "none", ""}, nil},
		"the first revision":    {[]string{"rollback", "-n", namespace, name, "1"}, []string{"1\tnginx:1, first rollout"}},
		"an unreadable cluster": {[]string{"status", "--as=nobody", "-n", namespace, ""}, nil},
	} {
		t.Run(about, func(t *testing.T) {
			got := completions(t, tt.arguments...)
			if !contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func contains(got, want []string) bool { return strings.Join(got, "\n") == strings.Join(want, "\n") }

// TestPluginCompletionIsBounded: a cluster that does not answer does not block the shell, and nothing is printed.
func TestPluginCompletionIsBounded(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = listener.Close() }()
	begun := time.Now()
	if got := completionsOf(t, "--server=https://"+listener.Addr().String(), "status", ""); len(got) > 0 {
		t.Errorf("got %q", got)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
