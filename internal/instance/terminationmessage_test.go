package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/nginx-operator/internal/instance/supervise"
)

func TestTerminationMessage(t *testing.T) {
	ended := func(lines ...string) error {
		return fmt.Errorf("run: %w", &supervise.EndedError{Outcome: "exit status 1", LastLines: lines})
	}
	long := strings.Repeat("é", maxTerminationMessage)
	tests := map[string]struct {
		reason     error
		start, end string
	}{
		"an error":      {errors.New("no nginx"), "no nginx", "no nginx"},
		"without words": {ended(), "run: nginx ended by itself: exit status 1", "exit status 1"},
		"with words":    {ended("first", "second"), "run: nginx ended by itself: exit status 1:\nfirst\nsecond", "second"},
		// The last lines are the most informative ones.
		"with many words": {ended(long, "the end"), "run: nginx ended by itself: exit status 1:\n", "é\nthe end"},
		"a long error":    {errors.New(long), "éé", "éé"},
	}
	for name, tt := range tests {
		got := terminationMessage(tt.reason)
		if !strings.HasPrefix(got, tt.start) || !strings.HasSuffix(got, tt.end) {
			t.Errorf("%s: %.100q … %q", name, got, got[max(0, len(got)-20):])
		}
		if len(got) > maxTerminationMessage || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes, valid: %t", name, len(got), utf8.ValidString(got))
		}
	}
}

func TestWriteTerminationMessage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	writeTerminationMessage(path, errors.New("no nginx"))
	if text, err := os.ReadFile(path); err != nil || string(text) != "no nginx" {
		t.Errorf("%q (%v)", text, err)
	}
}
