package audit

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const account = "system:serviceaccount:home:operator"

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// line returns a request that was received the given number of seconds after noon.
func line(id, user string, seconds int) string {
	at := noon.Add(time.Duration(seconds) * time.Second)
	return fmt.Sprintf(`{"auditID":%q,"stage":"ResponseComplete","verb":"get","user":{"username":%q},"requestReceivedTimestamp":%q,"stageTimestamp":%q}`+"\n",
		id, user, at.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
}

// write writes a file whose modification time is the given number of seconds after noon.
func write(t *testing.T, path, text string, seconds int) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := noon.Add(time.Duration(seconds) * time.Second)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestRequests(t *testing.T) {
	dir := t.TempDir()
	log := Log{filepath.Join(dir, "audit.log")}
	write(t, filepath.Join(dir, "audit-2026-01-01T12-00-10.log"), line("a", account, 1)+line("b", "other", 2)+line("c", account, 9), 10)
	write(t, filepath.Join(dir, "audit-2026-01-01T12-00-20.log"), line("d", account, 11)+line("d", account, 11)+line("e", account, 19), 20)
	// The API server is still writing the last line.
	write(t, log.Path, line("f", account, 21)+line("g", "other", 22)+line("h", account, 29)+`{"auditID":"i","user":{"username":"`+account, 30)
	// A file that is not part of the log.
	write(t, filepath.Join(dir, "policy.yaml"), "kind: Policy", 0)

	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	tests := []struct {
		name   string
		filter Filter
		want   string
	}{
		{"everything", Filter{User: account}, "a c d e f h"},
		{"of another user", Filter{User: "other"}, "b g"},
		{"of an unknown user", Filter{User: "nobody"}, ""},
		{"since, in a rotated file", Filter{User: account, Since: at(9)}, "c d e f h"},
		{"since is inclusive, until is not", Filter{User: account, Since: at(11), Until: at(21)}, "d e"},
		{"of the current file", Filter{User: account, Since: at(25)}, "h"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			events, err := log.Requests(tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, e := range events {
				ids = append(ids, e.AuditID)
			}
			if diff := cmp.Diff(tt.want, strings.Join(ids, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStart(t *testing.T) {
	dir := t.TempDir()
	log := Log{filepath.Join(dir, "audit.log")}
	if _, err := log.Start(); err == nil {
		t.Error("a log that does not exist has a start")
	}
	write(t, log.Path, "", 0)
	if _, err := log.Start(); err == nil {
		t.Error("an empty log has a start")
	}
	write(t, log.Path, line("b", account, 20), 20)
	expectStart(t, log, noon.Add(20*time.Second))

	var zipped strings.Builder
	zip := gzip.NewWriter(&zipped)
	if _, err := zip.Write([]byte(line("a", account, 5))); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "audit-2026-01-01T12-00-10.log.gz"), zipped.String(), 10)
	expectStart(t, log, noon.Add(5*time.Second))
}

func expectStart(t *testing.T, log Log, want time.Time) {
	t.Helper()
	got, err := log.Start()
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(want) {
		t.Errorf("the log starts at %s, want %s", got, want)
	}
}

func TestRequestsOfABrokenLog(t *testing.T) {
	log := Log{filepath.Join(t.TempDir(), "audit.log")}
	write(t, log.Path, `{"user": "`+account+`" broken`+"\n", 0)
	if _, err := log.Requests(Filter{User: account}); err == nil {
		t.Error("a line that is no JSON is skipped in silence")
	}
}
