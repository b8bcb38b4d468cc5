package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferences(t *testing.T) {
	write := func(text string) map[string]string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "SHA256SUMS")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sums, err := readSums(path)
		if err != nil {
			t.Fatal(err)
		}
		return sums
	}
	first := write("aa  same\nbb  other\ncc  gone\n")
	second := write("aa  same\nb0  other\ndd  more\n")
	want := []string{"gone is missing", "other differs", "more is new"}
	if diff := cmp.Diff(want, differences(first, second)); diff != "" {
		t.Error(diff)
	}
	if diff := differences(first, first); len(diff) > 0 {
		t.Errorf("a build differs from itself: %v", diff)
	}
}
