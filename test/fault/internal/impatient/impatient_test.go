package impatient

import (
	"testing"

	"example.com/nginx-operator/test/testenv"
)

// TestEdits: the edits apply to the current source.
func TestEdits(t *testing.T) {
	if sources, err := change.Sources(testenv.Root()); err != nil || len(sources) != len(edits) {
		t.Errorf("%d changed files: %v", len(sources), err)
	}
}
