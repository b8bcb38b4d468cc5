package main

import (
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
