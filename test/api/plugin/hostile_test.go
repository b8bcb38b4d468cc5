package plugin

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/api/v1alpha2"
)

// hostile is a text that clears a terminal, sets its title and hides what follows: with escapes of seven and of eight bits.
const hostile = "a\x1b[2J\x1b]0;title\a\u009b31m\u0085\x7f\rb\u009d"

// control returns the first control character of a text that a terminal would obey; line feeds and tabs are not.
func control(text string) (rune, bool) {
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return r, true
		}
	}
	return 0, false
}

// TestHostileOutput: no format prints what a terminal would obey, and JSON and YAML keep the texts.
func TestHostileOutput(t *testing.T) {
	namespace := newNamespace(t)
	nginx := create(t, namespace, "web", metav1.ConditionFalse, hostile)
	nginx.Annotations = map[string]string{"x": hostile}
	nginx.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{"site.conf": "# " + hostile}}
	must(t, kube.Update(t.Context(), nginx))
	report(t, nginx, metav1.ConditionFalse, hostile)
	for _, command := range []string{"list", "list --traffic", "status web", "explain web", "tree web", "history web"} {
		for _, format := range []string{"", "wide", "name", "json", "yaml"} {
			got := kubectlNginx(t, command+" -n "+namespace+" --output="+format)
			if got.code != 0 && got.code != 2 {
				t.Errorf("%s -o %s: exit code %d: %s", command, format, got.code, got.errors)
			}
			if r, found := control(got.output + got.errors); found {
				t.Errorf("%s -o %s prints %q:\n%q", command, format, r, got.output)
			}
		}
	}
	for format, decode := range map[string]func([]byte, any) error{"json": json.Unmarshal, "yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) }} {
		var found v1alpha2.NginxOperatorList
		must(t, decode([]byte(kubectlNginx(t, "list -o "+format+" -n "+namespace).output), &found))
		if len(found.Items) != 1 {
			t.Fatalf("%s has %d applications", format, len(found.Items))
		}
		if found.Items[0].Annotations["x"] != hostile || found.Items[0].Status.Conditions[0].Message != hostile {
			t.Errorf("%s changes the texts: %q", format, found.Items[0].Annotations)
		}
	}
	if message := kubectlNginx(t, "list -n "+namespace+" -o wide").output; !strings.Contains(message, "a[2J") {
		t.Errorf("the message is not shown: %s", message)
	}
}
