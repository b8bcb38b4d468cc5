//go:build instance && importset

package instance_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/test/importset"
	"example.com/nginx-operator/test/standin/container"
)

// TestImportSet compares the answers of public configurations with those of their imports. IMPORT_SET is the folder with
// the repositories, IMPORT_SET_REPORT a file for the figures. NGINX_IMAGE chooses another image than that of the newest Debian.
func TestImportSet(t *testing.T) {
	folder := os.Getenv("IMPORT_SET")
	if folder == "" {
		t.Fatal("IMPORT_SET=FOLDER is needed: the folder with the repositories, as for hack/importset")
	}
	set, err := importset.Find(folder)
	must(t, err)
	outcome := newComparison()
	t.Run("set", func(t *testing.T) {
		for i, name := range slices.Concat(set.Whole, set.Parts) {
			short, err := filepath.Rel(folder, name)
			must(t, err)
			t.Run(short, func(t *testing.T) {
				t.Parallel()
				compareConfiguration(t, outcome, name, i >= len(set.Whole))
			})
		}
	})
	t.Log("\n" + outcome.report())
	if file := os.Getenv("IMPORT_SET_REPORT"); file != "" {
		must(t, os.WriteFile(file, []byte(outcome.report()), 0o644)) //nolint:gosec // It is a public result.
	}
}

// compareConfiguration compares a configuration, or a part of one, with its import.
func compareConfiguration(t *testing.T, outcome *comparison, name string, part bool) {
	m := newMachine(t, name, part)
	if refusal := m.provideAll(); refusal != "" {
		outcome.refuse(t, importset.Reason(refusal))
		return
	}
	tree, requests := m.requests()
	if len(requests) == 0 {
		outcome.refuse(t, "no server takes HTTP requests over TCP")
		return
	}
	m.provideContent(tree)
	original := m.startOriginal(requests[0])
	if original == nil {
		outcome.refuse(t, "nginx accepts it, and does not start: "+importset.Reason(importset.Refusal(m.output.String())))
		return
	}
	imported := m.startImport()
	if imported == nil {
		outcome.fail(t, part)
		return
	}
	outcome.accept(part)
	compareAnswers(t, outcome, original, imported, requests)
}

// compareAnswers compares the answers to requests. Those that differ are asked for again at the end.
func compareAnswers(t *testing.T, outcome *comparison, original, imported *container.Container, requests []importset.Request) {
	t.Helper()
	var differing []importset.Request
	for _, r := range requests {
		want, got := answers(original, imported, r)
		if same(want, got) {
			outcome.compare(t, r, want, got, "")
			continue
		}
		differing = append(differing, r)
	}
	deadline := time.Now().Add(ejection)
	for _, r := range differing {
		want, got := answersAtLast(original, imported, r, deadline)
		outcome.compare(t, r, want, got, cmp.Diff(want, got))
	}
}

// requests returns the configuration as nginx reads it, and what to ask of it. One without a server gets one.
func (m *machine) requests() (syntax.Tree, []importset.Request) {
	m.t.Helper()
	tree := m.tree()
	if len(importset.Servers(tree, m.main)) == 0 && m.addServer(tree) {
		if refusal := m.provideAll(); refusal != "" {
			m.t.Fatalf("nginx refuses a server beside the configuration: %s", refusal)
		}
		tree = m.tree()
	}
	return tree, importset.Requests(importset.Servers(tree, m.main))
}
