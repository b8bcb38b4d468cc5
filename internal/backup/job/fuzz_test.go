package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// FuzzParseResult: a termination message is either refused with a short error on one line, or a
// complete result. Written again, the result is still complete and fits.
func FuzzParseResult(f *testing.F) {
	for _, message := range []string{
		"", "null", "{}", `{"failure":{"reason":"StoreDenied","message":"no\nentry"}}`, `{"deleted":true,"completedAt":"2026-11-21T12:00:00Z"}`,
		`{"archive":"a/b/c","totals":{},"completedAt":"2026-11-21T12:00:00Z","size":-1,"sha256":"x"}`, "exec: \"/nginx-backup\": \x1b[31mpermission denied",
		`{"listing":{"backups":3,"found":[{"p":"web/a-01234567","a":1}]},"completedAt":"2026-11-21T12:00:00Z"}`,
		`{"failure":{"reason":"` + strings.Repeat("x", 5000) + `","message":""}}`,
	} {
		f.Add(message)
	}
	path := filepath.Join(f.TempDir(), "termination-log")
	f.Fuzz(func(t *testing.T, message string) {
		r, err := ParseResult(message)
		if err != nil {
			if text := err.Error(); len(text) > 1200 || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("the error is %q", text)
			}
			return
		}
		if r.Write(path) != nil {
			return // It does not fit, so no pod can have written it.
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > resultLimit {
			t.Fatalf("%d bytes are left (%v)", len(text), err)
		}
		again, err := ParseResult(string(text))
		if err != nil {
			t.Fatalf("what was left is no result: %v", err)
		}
		if diff := cmp.Diff(r.Failure == nil, again.Failure == nil); diff != "" {
			t.Errorf("left again it is another one:\n%s", diff)
		}
	})
}
