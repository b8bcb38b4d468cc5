package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/nginx/history"
)

// TestBeginning: no value, and no description, has characters that a terminal would obey.
func TestBeginning(t *testing.T) {
	got := beginning([]cobra.Completion{"web", "shop", "we\x1b[2Jb", "well\ta\x1b]0;title\abc\td\n"}, "we")
	want := []cobra.Completion{"web", "we[2Jb", "well\ta]0;titlebc d "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDescribeRevisions(t *testing.T) {
	got := describeRevisions(history.History{{Number: 1, Image: "nginx:1", Cause: "first rollout"}, {Number: 12, Image: "nginx:2", Cause: "the image changed"}})
	want := []cobra.Completion{"1\tnginx:1, first rollout", "12\tnginx:2, the image changed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
