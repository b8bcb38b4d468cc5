package job

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// tasks are all tasks.
var tasks = []Task{Create, Delete, Read, Match, Extract, VerifyExisting, List}

// FuzzParseResult: a termination message is either refused with a short error on one line, or a
// complete result of its task. Written again, the result is still complete and fits.
func FuzzParseResult(f *testing.F) {
	for _, message := range []string{
		"", "null", "{}", `{"failure":{"reason":"StoreDenied","message":"no\nentry"}}`, `{"deleted":true,"completedAt":"2026-11-21T12:00:00Z"}`,
		`{"archive":"a/b/c","totals":{},"completedAt":"2026-11-21T12:00:00Z","size":-1,"sha256":"x"}`, "exec: \"/nginx-backup\": \x1b[31mpermission denied",
		`{"volumes":[{}],"completedAt":"2026-11-21T12:00:00Z"}`,
		`{"listing":{"backups":3,"found":[{"p":"web/a-01234567","a":1}]},"completedAt":"2026-11-21T12:00:00Z"}`,
		`{"failure":{"reason":"` + strings.Repeat("x", 5000) + `","message":""}}`,
	} {
		for i := range tasks {
			f.Add(message, uint8(i))
		}
	}
	path := filepath.Join(f.TempDir(), "termination-log")
	f.Fuzz(func(t *testing.T, message string, index uint8) {
		task := tasks[int(index)%len(tasks)]
		r, err := ParseResult(task, message)
		if err != nil {
			if text := err.Error(); len(text) > 1200 || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("the error is %q", text)
			}
			return
		}
		complete(t, task, r)
		if r.Write(path) != nil {
			return // It does not fit, so no pod can have written it.
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > resultLimit {
			t.Fatalf("%d bytes are left (%v)", len(text), err)
		}
		again, err := ParseResult(task, string(text))
		if err != nil {
			t.Fatalf("what was left is no result: %v", err)
		}
		if diff := cmp.Diff(r.Failure == nil, again.Failure == nil); diff != "" {
			t.Errorf("left again it is another one:\n%s", diff)
		}
	})
}

// complete reports an error unless a result has what is read of it after a success of the task, or a known reason.
func complete(t *testing.T, task Task, r Result) {
	t.Helper()
	if r.Failure != nil {
		if reason := r.Failure.Reason; reason != v1alpha1.ReasonJobFailed && !slices.Contains(reportedReasons, reason) {
			t.Errorf("the reason is %q", reason)
		}
		return
	}
	written := r.Totals != nil && r.Archive != "" && r.SHA256 != ""
	has := map[Task]bool{
		Create: written, VerifyExisting: written, Delete: r.Deleted, Match: len(r.Volumes) > 0, Extract: len(r.Volumes) > 0, List: r.Listing != nil,
	}
	if r.CompletedAt == nil || !has[task] {
		t.Errorf("it is a result of the task %s: %+v", task, r)
	}
}
