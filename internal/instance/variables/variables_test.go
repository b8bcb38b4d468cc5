package variables

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instanceapi"
)

// mounted returns a folder with the objects that a pod mounts.
func mounted(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	secret    = instanceapi.VariableObject{Kind: "Secret", Object: "shop"}
	configMap = instanceapi.VariableObject{Kind: "ConfigMap", Object: "shop"}
)

func replace(t *testing.T, text string, declared instanceapi.Variables, mountedFiles map[string]string) Replaced {
	t.Helper()
	file, err := json.Marshal(declared)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Replace(map[string]string{"site.conf": text, instanceapi.FileVariables: string(file)}, mounted(t, mountedFiles))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReplace: declared variables are replaced, and everything else stays, byte for byte.
func TestReplace(t *testing.T) {
	declared := instanceapi.Variables{
		Variables: []instanceapi.Variable{
			{Name: "PORT", Value: new("8080")},
			{Name: "TOKEN", VariableObject: secret, Key: "api.token"},
			{Name: "BACKEND", VariableObject: configMap, Key: "backend"},
			{Name: "UNUSED", VariableObject: secret, Key: "missing"},
		},
		From: []instanceapi.VariablesFrom{{Prefix: "A_", VariableObject: configMap}, {Prefix: "A_", VariableObject: secret}},
	}
	mountedFiles := map[string]string{
		"secret/shop/api.token": "hunter2\n", "configmap/shop/backend": "b:80", "configmap/shop/USER": "of the map", "configmap/shop/ONLY": "x", "secret/shop/USER": "of the Secret",
	}
	r := replace(t, "${PORT} ${TOKEN} ${BACKEND} ${A_USER} ${A_ONLY} ${A_NONE} ${host} $PORT ${OTHER}\n", declared, mountedFiles)
	if diff := cmp.Diff("8080 hunter2 b:80 of the Secret x ${A_NONE} ${host} $PORT ${OTHER}\n", r.Files["site.conf"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"${TOKEN}": "hunter2", "${A_USER}": "of the Secret"}, r.Values); diff != "" {
		t.Errorf("values of Secrets (-want +got):\n%s", diff)
	}
	if len(r.Problems) > 0 {
		t.Error(r.Problems)
	}
}

// TestRefused: a value that is missing, or that nginx could take for more than one word, is refused, and not shown.
func TestRefused(t *testing.T) {
	declared := instanceapi.Variables{Variables: []instanceapi.Variable{{Name: "TOKEN", VariableObject: secret, Key: "token"}}}
	for name, tt := range map[string]struct{ value, want string }{
		"a directive":         {"hunter2; return 200", "has one of the characters"},
		"a block":             {"hunter2}", "has one of the characters"},
		"a quote":             {`hunter2"`, "has one of the characters"},
		"a variable of nginx": {"hunter2$host", "has one of the characters"},
		"a comment":           {"hunter2#", "has one of the characters"},
		"two lines":           {"hunter2\nb", "a line break or another control character"},
		"not UTF-8":           {"hunter2\xff", "is not UTF-8"},
		"long":                {"hunter2" + strings.Repeat("x", maxValue), "is longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			r := replace(t, "${TOKEN}", declared, map[string]string{"secret/shop/token": tt.value})
			if len(r.Problems) != 1 || !strings.HasPrefix(r.Problems[0].Message, "spec.config.env: TOKEN: the value of Secret shop ") || !strings.Contains(r.Problems[0].Message, tt.want) {
				t.Fatalf("problems: %v", r.Problems)
			}
			if strings.Contains(r.Problems[0].Message, "hunter2") || r.Files["site.conf"] != "${TOKEN}" {
				t.Errorf("the value is shown: %v %v", r.Problems, r.Files)
			}
		})
	}
	r := replace(t, "${TOKEN} ${TOKEN}", declared, nil)
	if len(r.Problems) != 1 || r.Problems[0].Message != "spec.config.env: TOKEN: Secret shop has no key token, or does not exist: create it" {
		t.Errorf("a missing one: %v", r.Problems)
	}
}

// FuzzReplace: whatever the values are, nginx's syntax of the file stays as it was.
func FuzzReplace(f *testing.F) {
	f.Add("value", "server_name ${A};")
	f.Add("a;b", "${A}")
	f.Fuzz(func(t *testing.T, value, text string) {
		file, err := json.Marshal(instanceapi.Variables{Variables: []instanceapi.Variable{{Name: "A", Value: &value}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := Replace(map[string]string{"site.conf": text, instanceapi.FileVariables: string(file)}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		count := func(s string) int { return strings.Count(s, "\n") + strings.Count(s, ";") }
		if got := r.Files["site.conf"]; count(got) != count(text) {
			t.Errorf("%q has become %q", text, got)
		}
	})
}
