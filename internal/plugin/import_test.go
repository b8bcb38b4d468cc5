package plugin

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"example.com/nginx-operator/internal/plugin/lint"
)

// run executes a command with an input, and returns its exit code and its outputs.
func run(t *testing.T, input string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := NewCommand(genericiooptions.IOStreams{In: strings.NewReader(input), Out: &stdout, ErrOut: &stderr}, "test")
	cmd.SetArgs(args)
	code = Run(t.Context(), cmd, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestImportIsValid: what the import makes of each test input is accepted by lint, apart from what the review says.
func TestImportIsValid(t *testing.T) {
	folders, err := filepath.Glob("importer/testdata/[cm]*/*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			code, out, review := run(t, "", "import", "-f", folder)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, review)
			}
			report, err := lint.Check(context.Background(), []lint.Document{{Name: "import", Text: []byte(out)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range report.Problems {
				if !p.Warning && !strings.Contains(review, p.Message) {
					t.Errorf("%s", p)
				}
			}
			if strings.Contains(review, "Correct the manifests") != report.Refused() {
				t.Errorf("the review does not name what is to be corrected:\n%s", review)
			}
		})
	}
}

func TestImportCommand(t *testing.T) {
	const config = "events {} http { server { listen 80; location / { return 200 red; } } }"
	code, out, review := run(t, config, "import", "-f", "-", "--name", "shop", "-n", "web", "--review", "all")
	if code != 0 || !strings.Contains(out, "name: shop\n  namespace: web") || strings.Contains(review, "\x1b") {
		t.Errorf("exit code %d\n%s\n%s", code, out, review)
	}
	if code, out, _ = run(t, config, "import", "-f", "-", "--summary"); code != 0 || !strings.Contains(out, "directives") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out, _ = run(t, config, "import", "-f", "-", "-o", "json"); code != 0 || !strings.HasPrefix(out, "{") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestImportRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		input string
		args  []string
		want  string
	}{
		"no input":    {"", nil, `required flag(s) "filename" not set`},
		"no file":     {"", []string{"-f", "testdata/none"}, "no such file"},
		"empty":       {"", []string{"-f", "-"}, "no directives"},
		"format":      {"", []string{"-f", "-", "-o", "xml"}, "use yaml or json"},
		"review":      {"", []string{"-f", "-", "--review", "some"}, "use changes, all or none"},
		"no manifest": {"apiVersion: v1\nkind: Secret\n", []string{"-f", "-"}, "no configuration to import"},
		"a terminal":  {"events {} # \x1b[31m", []string{"-f", "-"}, "there is a control character (U+001B)"},
		"a name":      {"events {} http { server { listen 80; } }", []string{"-f", "-", "--name", "Shop!"}, "metadata.name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, errOut := run(t, tt.input, append([]string{"import"}, tt.args...)...)
			if !strings.Contains(errOut, tt.want) {
				t.Errorf("%q, want %q", errOut, tt.want)
			}
		})
	}
}

func TestLintCommand(t *testing.T) {
	for name, tt := range map[string]struct {
		input string
		args  []string
		code  int
		want  string
	}{
		"fine":       {"apiVersion: operator.example.com/v1alpha2\nkind: NginxOperator\nmetadata: {name: a}\n", []string{"-f", "-"}, 0, "objects: 1 checked"},
		"refused":    {"apiVersion: operator.example.com/v1alpha2\nkind: NginxOperator\nmetadata: {name: a}\nspec: {replica: 1}\n", []string{"-f", "-"}, exitRefused, "standard input:4: NginxOperator a: spec.replica: there is no such field: is replicas meant?"},
		"no YAML":    {"a: [", []string{"-f", "-"}, exitRefused, "standard input:1"},
		"json":       {"a: [", []string{"-f", "-", "-o", "json"}, exitRefused, `"line": 1`},
		"nothing":    {"apiVersion: v1\nkind: Secret\n", []string{"-f", "-"}, exitError, ""},
		"no nginx":   {"", []string{"-f", "-", "--nginx", "/none"}, exitError, ""},
		"no folder":  {"", []string{"-f", "testdata/none"}, exitError, ""},
		"a folder":   {"", []string{"-f", "../../config/samples"}, 0, "checked"},
		"a terminal": {"apiVersion: operator.example.com/v1alpha2\nkind: NginxOperator\nmetadata: {name: \"a\\e[31m\"}\n", []string{"-f", "-"}, exitRefused, "a[31m"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := run(t, tt.input, append([]string{"lint"}, tt.args...)...)
			if code != tt.code || !strings.Contains(out, tt.want) || strings.Contains(out+errOut, "\x1b") {
				t.Errorf("exit code %d, want %d\n%s%s", code, tt.code, out, errOut)
			}
		})
	}
}

// must ends the test if there is an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// debianFolder makes a folder of nginx as Debian has it, with links by their names.
func debianFolder(t *testing.T, links map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "sites-available"), 0o750))
	must(t, os.MkdirAll(filepath.Join(dir, "sites-enabled"), 0o750))
	must(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte("events {}\nhttp { include sites-enabled/*; }\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "sites-available", "shop"), []byte("server { listen 80; server_name shop; }\n"), 0o600))
	for name, target := range links {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	return dir
}

// checkHostile checks that a command refuses a hostile folder, and does not show the secret.
func checkHostile(t *testing.T, command, name, dir, want string) {
	t.Helper()
	code, out, review := run(t, "", command, "-f", dir)
	if strings.Contains(out+review, "a secret") {
		t.Errorf("%s %s: the secret is in the output:\n%s%s", command, name, out, review)
	}
	if command == "lint" && name == "a device" {
		return // no file of the folder is a manifest
	}
	if code == 0 || !strings.Contains(review, want) {
		t.Errorf("%s %s: exit code %d\n%s%s", command, name, code, out, review)
	}
}

// TestHostileFolders: import and lint read regular files of the folder that the user names only.
func TestHostileFolders(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.conf")
	must(t, os.WriteFile(secret, []byte("server { listen 80; # a secret\n}\n"), 0o600))
	folder := func(links map[string]string) string { return debianFolder(t, links) }
	pipe := folder(nil)
	must(t, syscall.Mkfifo(filepath.Join(pipe, "sites-enabled", "pipe.yaml"), 0o600))
	for name, tt := range map[string]struct{ dir, want string }{
		"a link to a secret": {folder(map[string]string{"sites-enabled/x": secret}), "leads out of the folder"},
		"a link above":       {folder(map[string]string{"sites-enabled/x": "../../" + filepath.Base(filepath.Dir(secret)) + "/secret.conf"}), "leads out of the folder"},
		"a device":           {folder(map[string]string{"sites-enabled/x": "/dev/zero"}), "leads out of the folder"},
		"a loop":             {folder(map[string]string{"sites-enabled/x": "x"}), "links lead to each other"},
		"a pipe":             {pipe, "pipe"},
		"the device itself":  {"/dev/zero", "/dev/zero"},
		"the pipe itself":    {filepath.Join(pipe, "sites-enabled", "pipe.yaml"), "pipe.yaml"},
	} {
		for _, command := range []string{"import", "lint"} {
			if command == "lint" && !strings.Contains(name, "pipe") && !strings.Contains(name, "device") {
				continue
			}
			checkHostile(t, command, name, tt.dir, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		dir, want string
	}{
		"as Debian links":  {folder(map[string]string{"sites-enabled/shop": "/etc/nginx/sites-available/shop"}), "server_name shop;"},
		"a link in it":     {folder(map[string]string{"sites-enabled/shop": "../sites-available/shop"}), "server_name shop;"},
		"a dangling link":  {folder(map[string]string{"sites-enabled/gone": "/etc/nginx/sites-available/gone"}), "sites-enabled/gone is a link to a file that the input lacks"},
		"through a folder": {folder(map[string]string{"sites-linked": "/etc/nginx/sites-available"}), "events"},
	} {
		if code, out, review := run(t, "", "import", "-f", tt.dir); code != 0 || !strings.Contains(out+review, tt.want) {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, review)
		}
	}
}
