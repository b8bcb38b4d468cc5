// Package golden compares test output with reviewed files. `go test PACKAGE -update` rewrites these
// files.
package golden

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Compare fails the test if got differs from the file at path.
func Compare(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(Read(t, path), got); diff != "" {
		t.Errorf("%s (-want +got, rewrite with -update):\n%s", path, diff)
	}
}

// Read returns the text of a file, and fails the test if it cannot be read.
func Read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Messages collects the messages that a package shows to users, as its tests produce them.
type Messages struct {
	mu    sync.Mutex
	lines map[string]bool
}

// Add records a message and where it appears, such as a condition with its reason.
func (m *Messages) Add(where, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines == nil {
		m.lines = map[string]bool{}
	}
	m.lines[where+": "+strings.Join(strings.Fields(message), " ")] = true
}

// Compare compares the sorted messages with a file in the package's testdata/messages.
// hack/messages collects the files of all packages in docs/messages.md.
func (m *Messages) Compare(t testing.TB, file string) {
	t.Helper()
	Compare(t, filepath.Join("testdata", "messages", file), strings.Join(slices.Sorted(maps.Keys(m.lines)), "\n")+"\n")
}
