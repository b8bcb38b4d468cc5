//go:build e2e

package docs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// timeout bounds a page.
const timeout = 10 * time.Minute

// TestPages: the commands of each page succeed, in their order, and have the output that the page shows.
func TestPages(t *testing.T) {
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, page := range all {
		steps, err := read(page)
		if err != nil {
			t.Fatal(err)
		}
		if len(steps) == 0 {
			continue
		}
		run++
		t.Run(nameOf(page), func(t *testing.T) {
			t.Parallel()
			runPage(t, page, steps)
		})
	}
	if run == 0 {
		t.Fatal("no page has a command")
	}
}

// runPage runs the commands of a page in one shell, in a namespace of its own.
func runPage(t *testing.T, page string, steps []step) {
	dir := t.TempDir()
	namespace := "docs-" + nameOf(page)
	environment := inNamespace(t, dir, namespace)
	var script strings.Builder
	script.WriteString("set -eu -o pipefail\ntrap 'code=$?; kill $(jobs -p) 2>/dev/null || true; exit $code' EXIT\n")
	for i, s := range steps {
		fmt.Fprintf(&script, "echo %d >%s/current\nexec >%s/%d 2>&1\n%s\n", i, dir, dir, i, strings.ReplaceAll(s.text, "namespace: default", "namespace: "+namespace))
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash")
	shell.Dir, shell.Env, shell.Stdin = root, environment, strings.NewReader(script.String())
	shell.Cancel = func() error { return shell.Process.Signal(os.Interrupt) }
	shell.WaitDelay = 10 * time.Second
	failure := shell.Run()
	last := current(t, dir)
	for i, s := range steps[:last+1] {
		output, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case i == last && failure != nil:
			t.Errorf("%s:%d: %v\n%s\n%s", page, s.line, failure, s.text, output)
		case s.output != nil && differs(s.output, string(output)):
			t.Errorf("%s:%d: the page shows\n%s\nand the output is\n%s", page, s.line, strings.Join(s.output, "\n"), output)
		}
	}
}

// current returns the index of the command that ran last.
func current(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "current"))
	if err != nil {
		t.Fatal(err)
	}
	i, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// inNamespace creates a namespace, and returns an environment in which kubectl uses it.
func inNamespace(t *testing.T, dir, namespace string) []string {
	t.Helper()
	kubectl := cmp.Or(os.Getenv("KUBECTL"), "kubectl")
	command := func(arguments ...string) string {
		t.Helper()
		var errors bytes.Buffer
		c := exec.Command(kubectl, arguments...)
		c.Stderr = &errors
		output, err := c.Output()
		if err != nil {
			t.Fatalf("kubectl %s: %v: %s", strings.Join(arguments, " "), err, errors.String())
		}
		return string(output)
	}
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, []byte(command("config", "view", "--raw", "--flatten", "--minify")), 0o600); err != nil {
		t.Fatal(err)
	}
	command("create", "namespace", namespace)
	t.Cleanup(func() { command("delete", "namespace", namespace) })
	command("--kubeconfig", config, "config", "set-context", "--current", "--namespace", namespace)
	path, err := exec.LookPath(kubectl)
	if err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "KUBECONFIG="+config, "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"))
}
