//go:build instance

package instance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/lint"
	"example.com/nginx-operator/internal/plugin/nginxtest"
	"example.com/nginx-operator/test/badconfig"
)

// TestLint: kubectl nginx lint --nginx refuses each bad configuration of the corpus that the operator or nginx refuses, or
// warns of what only a pod can find out.
func TestLint(t *testing.T) {
	const image = "forky"
	nginx, err := nginxtest.New(t.Context(), program(t, environment.images[image]))
	must(t, err)
	if report := lintConfig(t, nginx, badconfig.Good("good")); report.Refused() {
		t.Fatalf("the good configuration: %v", report.Problems)
	}
	checked, refused := 0, 0
	for _, c := range badconfig.All() {
		if c.Finder != badconfig.Test && c.Finder != badconfig.Operator || !inManifest(c) {
			continue
		}
		checked++
		report := lintConfig(t, nginx, c.Files)
		// The machine of the test may have an address that a pod does not.
		if len(report.Problems) == 0 && c.Sort != "foreign-address" {
			t.Errorf("%s (%s): lint finds nothing, want %v", c.Name, c.Sort, c.Want)
		}
		if report.Refused() {
			refused++
		}
	}
	t.Logf("of %d bad configurations, %d are refused, and the others have a warning", checked, refused)
}

// inManifest reports whether a manifest can have the files: it is text.
func inManifest(c badconfig.Case) bool {
	for _, text := range c.Files {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// program returns a script that runs the nginx of an image with the image's libraries and files.
func program(t *testing.T, root string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "nginx")
	text := fmt.Sprintf(`#!/bin/sh
run() { %[1]s/lib64/ld-linux-x86-64.so.2 --library-path %[1]s/usr/lib/x86_64-linux-gnu:%[1]s/lib/x86_64-linux-gnu %[1]s/usr/sbin/nginx "$@"; }
[ "$1" = -V ] && { run -V 2>&1 | sed 's|--conf-path=/etc|--conf-path=%[1]s/etc|'; exit 0; }
run "$@"
`, root)
	must(t, os.WriteFile(script, []byte(text), 0o755)) //nolint:gosec // It is run.
	return script
}

// lintConfig checks an application with a configuration.
func lintConfig(t *testing.T, nginx *nginxtest.Nginx, files map[string]string) *lint.Report {
	t.Helper()
	app := &v1alpha2.NginxOperator{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha2.GroupVersion.String(), Kind: "NginxOperator"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	app.Spec.Ports = []v1alpha2.Port{{Name: "http", Port: badconfig.Port, Protocol: "TCP"}}
	app.Spec.Config = &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{}}
	for name, text := range files {
		app.Spec.Config.Files[name] = v1alpha2.ConfigFile(text)
	}
	text, err := json.Marshal(app)
	must(t, err)
	// JSON may have this character as it is, and YAML may not.
	text = bytes.ReplaceAll(text, []byte("\x7f"), []byte(`\u007f`))
	report, err := lint.Check(t.Context(), []lint.Document{{Name: "web.json", Text: text}}, nginx)
	must(t, err)
	return report
}
