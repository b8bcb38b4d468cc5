package nginx

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestTailOfRequests: many failed requests do not push out nginx's messages about itself.
func TestTailOfRequests(t *testing.T) {
	tail := &Tail{Redact: func(line string) string { return line }}
	const crash = "2026/11/21 05:00:00 [alert] 7#7: worker process 9 exited on signal 11"
	lines := []string{crash}
	for i := range 2 * tailLines {
		lines = append(lines, fmt.Sprintf(`2026/11/21 05:00:00 [error] 9#9: *%d open() "/x" failed (2: No such file or directory), client: 10.0.0.1, request: "GET /?token=%d HTTP/1.1"`, i, i))
	}
	tail.Copy(strings.NewReader(strings.Join(lines, "\n")+"\n"), io.Discard)
	if got := tail.Since(0); len(got) != 1 || got[0] != crash {
		t.Errorf("%q is remembered", got)
	}
}

// TestTailIsNotRedacted: decisions depend on nginx's own text, and only the copy is for others.
func TestTailIsNotRedacted(t *testing.T) {
	tail := &Tail{Redact: func(string) string { return "redacted" }}
	var copied strings.Builder
	const line = `2026/11/21 05:00:00 [emerg] 7#7: host not found in upstream "hunter2" in /a.conf:1`
	tail.Copy(strings.NewReader(line+"\n"), &copied)
	if got := tail.Since(0); copied.String() != "redacted\n" || len(got) != 1 || got[0] != line {
		t.Errorf("copied %q, kept %q", copied.String(), got)
	}
}
