package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for name, want := range map[string][]string{
		"selectRevision":  {"select", "revision"},
		"HTTPServer_test": {"http", "server", "test"},
		"x2y":             {"x", "y"},
		"_":               nil,
	} {
		if diff := cmp.Diff(want, split(name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCheck(t *testing.T) {
	words, err := notUsed("# Glossary\n\n## Words not used\n\n| not used | use |\n|---|---|\n| course, chart | selection |\n")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "course.go")
	source := "package p\n\n// a course in a comment\nfunc chartRevision() { courses := \"chart\"; _ = courses }\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := check(path, words)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.name+" "+words[f.word])
	}
	if diff := cmp.Diff([]string{"course.go selection", "chartRevision selection"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestNoTable(t *testing.T) {
	for _, text := range []string{"", "## Words not used\n\nnone\n"} {
		if _, err := notUsed(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
