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

func TestLastWord(t *testing.T) {
	ended := func(lines ...string) error {
		return fmt.Errorf("run: %w", &supervise.EndedError{Outcome: "exit status 1", LastWords: lines})
	}
	long := strings.Repeat("é", maxLastWord)
	tests := map[string]struct {
		reason     error
		start, end string
	}{
		"an error":      {errors.New("no nginx"), "no nginx", "no nginx"},
		"without words": {ended(), "run: nginx ended by itself: exit status 1", "exit status 1"},
		"with words":    {ended("first", "second"), "run: nginx ended by itself: exit status 1:\nfirst\nsecond", "second"},
		// The last words are the ones that tell most.
		"with many words": {ended(long, "the end"), "run: nginx ended by itself: exit status 1:\n", "é\nthe end"},
		"a long error":    {errors.New(long), "éé", "éé"},
	}
	for name, tt := range tests {
		got := lastWord(tt.reason)
		if !strings.HasPrefix(got, tt.start) || !strings.HasSuffix(got, tt.end) {
			t.Errorf("%s: %.100q … %q", name, got, got[max(0, len(got)-20):])
		}
		if len(got) > maxLastWord || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes, valid: %t", name, len(got), utf8.ValidString(got))
		}
	}
}

func TestLeaveWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "termination-log")
	leaveWord(path, errors.New("no nginx"))
	if text, err := os.ReadFile(path); err != nil || string(text) != "no nginx" {
		t.Errorf("%q (%v)", text, err)
	}
}
