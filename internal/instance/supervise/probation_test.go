package supervise

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instanceapi"
)

// TestCrash: a crash of a previous worker, which finishes its requests, does not count.
func TestCrash(t *testing.T) {
	exited := func(pid int) string {
		return fmt.Sprintf("2026/11/21 05:00:00 [alert] 7#7: worker process %d exited on signal 11\n", pid)
	}
	for name, tt := range map[string]struct{ before, after, want string }{
		"none":               {"", "", ""},
		"a new worker":       {"", exited(30), "11"},
		"one from before":    {"", exited(20), ""},
		"both":               {"", exited(20) + exited(30), "11"},
		"one before it all":  {exited(30), "", ""},
		"one ended in peace": {"", "2026/11/21 05:00:00 [notice] 7#7: worker process 30 exited with code 0\n", ""},
	} {
		log := &nginx.Tail{Redact: func(line string) string { return line }}
		log.Copy(strings.NewReader(tt.before), io.Discard)
		load := analysis{mark: log.Mark(), old: []int{20, 21}}
		log.Copy(strings.NewReader(tt.after), io.Discard)
		if got := load.crash(log); got != tt.want {
			t.Errorf("%s: signal %q, want %q", name, got, tt.want)
		}
	}
}

// TestIsRollback: an edit is distinguished from a rollback by the operator.
func TestIsRollback(t *testing.T) {
	for name, tt := range map[string]struct {
		requested instanceapi.Requested
		want      bool
	}{
		"an edit":                       {instanceapi.Requested{Test: "b", Load: "b"}, false},
		"a token authorizes the load":   {instanceapi.Requested{Test: "b"}, false},
		"another one was refused":       {instanceapi.Requested{Test: "c", Load: "b"}, true},
		"another edit came since then":  {instanceapi.Requested{Test: "c", Load: "c"}, false},
		"what pods boot from, by edit":  {instanceapi.Requested{Test: "a", Load: "a"}, true},
		"what pods boot from, by force": {instanceapi.Requested{Test: "c", Load: "a"}, true},
	} {
		s := &Supervisor{}
		s.folders.stable.revision, s.folders.requested = "a", tt.requested
		revision := tt.requested.Load
		if revision == "" || tt.requested.Load == "c" {
			revision = "b"
		}
		if got := s.isRollback(revision); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
