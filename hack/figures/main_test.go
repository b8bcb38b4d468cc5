package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	h := history{commits: []string{"aaaaaaa0", "bbbbbbb0", "ccccccc0"}, valid: 1}
	for text, want := range map[string]string{
		"# A\n\nwords, 3 of them\n":                                       "",
		"# A\n\n| | goal |\n|---|---|\n| x | 3 |\n":                       "names no commit",
		"# A\n\n| x | 3 |\n\nMeasured on aaaaaaa.\n":                      "",
		"# A\n\n| x | 3 |\n\nMeasured on aaaaaaa, bbbbbbb.\n":             "",
		"# A\n\n| x | 3 |\n\nMeasured on aaaaaaa, ccccccc.\n":             "ccccccc is more than one release behind",
		"# A\n\n| x | 3 |\n\nMeasured on ddddddd.\n":                      "ddddddd is no commit",
		"# A\n\n| x | 3 |\n\n## B\n\nMeasured on aaaaaaa.\n":              "names no commit",
		"# A\n\n| x | 3 |\n\nMeasured on aaaaaaa,\nbbbbbbb, ccccccc.\n":   "ccccccc is more",
		"# A\n\n| x | 3 |\n\nIt was measured on aaaaaaa, I am sure.\n":    "names no commit",
		"# A\n\n| x | three |\n\n```\nout 3\n```\n\n# B\n\n| x | y3 |\n":  "names no commit",
		"# A\n\n| x | 3 |\n\nMeasured on aaaaaaa.\n\n# B\n\n| x | y3 |\n": "names no commit",
	} {
		var got []string
		for _, s := range sections(text) {
			if err := h.check(s); err != nil {
				got = append(got, err.Error())
			}
		}
		if found := strings.Join(got, "; "); (want == "") != (found == "") || !strings.Contains(found, want) {
			t.Errorf("%q: %q, want %q", text, found, want)
		}
	}
}

// TestRepository: the history of this repository can be read.
func TestRepository(t *testing.T) {
	h, err := readHistory(t.Context(), "../..")
	if err != nil || len(h.commits) == 0 || h.valid < 0 {
		t.Errorf("%d commits, valid %d (%v)", len(h.commits), h.valid, err)
	}
}

// repository is a repository whose commits are releases or changes.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.git("init", "--quiet")
	return r
}

func (r repository) git(arguments ...string) string {
	r.t.Helper()
	command := exec.CommandContext(r.t.Context(), "git", append([]string{"-C", r.root, "-c", "user.name=test", "-c", "user.email=test@example.com"}, arguments...)...)
	text, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", arguments, err, text)
	}
	return strings.TrimSpace(string(text))
}

// commit writes a file, commits it, and returns the commit.
func (r repository) commit(name, text string) string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.root, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", name)
	r.git("commit", "--quiet", "--message", text)
	return r.git("rev-parse", "HEAD")
}

// tooOld reports whether the figures of a commit are too old.
func (r repository) tooOld(commit string) bool {
	r.t.Helper()
	h, err := readHistory(r.t.Context(), r.root)
	if err != nil {
		r.t.Fatal(err)
	}
	err = h.check(section{title: "A", commits: []string{commit[:7]}})
	if err != nil && !strings.Contains(err.Error(), "more than one release behind") {
		r.t.Fatal(err)
	}
	return err != nil
}

// TestReleases: figures are valid since the release before the newest one. Before there are two releases, all are.
func TestReleases(t *testing.T) {
	r := newRepository(t)
	var commits []string
	for _, c := range []struct {
		name, text string
		// tooOld is the number of commits whose figures are too old afterwards.
		tooOld int
	}{
		{"code", "a", 0}, {"VERSION", "0.1.0", 0}, {"code", "b", 0}, {"VERSION", "0.2.0", 1}, {"code", "c", 1}, {"code", "d", 1}, {"VERSION", "0.3.0", 3}, {"code", "e", 3},
		{"VERSION", "0.4.0", 6},
	} {
		commits = append(commits, r.commit(c.name, c.text))
		for i, commit := range commits {
			if got := r.tooOld(commit); got != (i < c.tooOld) {
				t.Errorf("after %s %s, the figures of commit %d are too old: %v", c.name, c.text, i, got)
			}
		}
	}
}

// TestRun: the documents of a repository are checked.
func TestRun(t *testing.T) {
	r := newRepository(t)
	first := r.commit("code", "a")
	for _, folder := range []string{"docs", "docs/results"} {
		if err := os.Mkdir(filepath.Join(r.root, folder), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range pages {
		r.commit(page, "# A\n\n| x | 3 |\n\nMeasured on "+first[:7]+".\n")
	}
	if err := run(t.Context(), r.root); err != nil {
		t.Errorf("without a release: %v", err)
	}
	r.commit("VERSION", "0.1.0")
	r.commit("VERSION", "0.2.0")
	if err := run(t.Context(), r.root); err == nil || strings.Count(err.Error(), "more than one release behind") != len(pages) {
		t.Errorf("after two releases: %v", err)
	}
}
