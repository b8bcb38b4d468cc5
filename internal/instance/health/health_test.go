package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/supervise"
	"example.com/nginx-operator/internal/instanceapi"
)

// The process table and the sockets are those of an nginx with two workers, one of which is
// exiting.
const (
	master    = 7
	listening = "  sl  local_address rem_address   st\n   0: 00000000:0050 00000000:0000 0A 0\n"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func machine(t *testing.T) proc.FS {
	t.Helper()
	dir := t.TempDir()
	for pid, process := range map[string]struct{ parent, title string }{
		"7": {"1", "nginx: master process nginx"},
		"8": {"7", "nginx: worker process"},
		"9": {"7", "nginx: worker process is shutting down"},
	} {
		write(t, dir, pid+"/stat", pid+" (nginx) S "+process.parent+strings.Repeat(" 1", 30))
		write(t, dir, pid+"/cmdline", process.title+"\x00")
	}
	write(t, dir, "net/tcp", listening)
	return proc.FS(dir)
}

// serving returns the snapshot of an nginx that serves.
func serving() *supervise.Snapshot {
	return &supervise.Snapshot{
		Status: instanceapi.Status{
			Serving: "r1", Workers: instanceapi.Workers{Configured: 2},
			Ports: []instanceapi.DeclaredPort{{Name: "http", Port: 80, Protocol: "TCP"}},
		},
		Master: master, ServingSince: time.Now().Add(-90 * time.Second),
	}
}

func TestExamine(t *testing.T) {
	snapshot := serving()
	doctor := &Doctor{Snapshot: func() *supervise.Snapshot { return snapshot }, Failing: func() string { return "" }, Proc: machine(t), Sockets: machine(t), Version: "v1"}
	got := doctor.Examine().Status
	seconds := int64(90)
	want := instanceapi.Status{
		Version: "v1", Serving: "r1", ServingSeconds: &seconds, Ready: true,
		Workers: instanceapi.Workers{Configured: 2, Running: 1, Exiting: 1},
		Ports:   []instanceapi.DeclaredPort{{Name: "http", Port: 80, Protocol: "TCP", Listening: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// Examine must not change the supervisor's snapshot.
	if snapshot.Status.Ports[0].Listening || snapshot.Status.ServingSeconds != nil {
		t.Error("the snapshot has changed")
	}
}

func TestNotReady(t *testing.T) {
	tests := map[string]struct {
		change  func(*supervise.Snapshot)
		want    string
		failing string
	}{
		"serves":        {func(*supervise.Snapshot) {}, "", ""},
		"fails a check": {func(*supervise.Snapshot) {}, "spec.checks[0]: no", "spec.checks[0]: no"},
		"drains":        {func(s *supervise.Snapshot) { s.Status.Draining = true }, "", ""},
		"ends":          {func(s *supervise.Snapshot) { s.Quitting = true }, "nginx is shutting down", ""},
		"does nothing":  {func(s *supervise.Snapshot) { s.Status.Serving, s.Waiting = "", "there is no configuration yet" }, "there is no configuration yet", ""},
		"is gone":       {func(s *supervise.Snapshot) { s.Master = 0 }, "nginx does not listen on port http (80/TCP)", ""},
		"another port":  {func(s *supervise.Snapshot) { s.Status.Ports[0].Port = 81 }, "nginx does not listen on port http (81/TCP)", ""},
		"by UDP":        {func(s *supervise.Snapshot) { s.Status.Ports[0].Protocol = "UDP" }, "nginx does not listen on port http (80/UDP)", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			snapshot := serving()
			tt.change(snapshot)
			doctor := &Doctor{Snapshot: func() *supervise.Snapshot { return snapshot }, Failing: func() string { return tt.failing }, Proc: machine(t), Sockets: machine(t)}
			got := doctor.Examine().Status
			if probe := doctor.NotReadyReason(); probe != tt.want {
				t.Errorf("a probe is answered %q, want %q", probe, tt.want)
			}
			if got.NotReady != tt.want || got.Ready != (tt.want == "") {
				t.Errorf("ready %t, because %q, want %q", got.Ready, got.NotReady, tt.want)
			}
			if (got.ServingSeconds == nil) != (got.Serving == "") {
				t.Errorf("it serves %q for %v", got.Serving, got.ServingSeconds)
			}
		})
	}
}

// TestProcIsReadOnce: while nothing changes, /proc is not read again, because probes and scrapes
// are frequent.
func TestProcIsReadOnce(t *testing.T) {
	snapshot, fs := serving(), machine(t)
	doctor := &Doctor{Snapshot: func() *supervise.Snapshot { return snapshot }, Failing: func() string { return "" }, Proc: fs, Sockets: fs}
	doctor.Examine()
	if err := os.Remove(filepath.Join(string(fs), "net/tcp")); err != nil {
		t.Fatal(err)
	}
	if got := doctor.Examine(); !got.Ready {
		t.Errorf("the kernel was queried again: %s", got.NotReady)
	}
	snapshot = serving()
	if got := doctor.Examine(); got.Ready {
		t.Error("the kernel was not queried about a new snapshot")
	}
}

// countingSockets counts how often the sockets are listed.
type countingSockets struct {
	proc.FS
	queries [][]string
}

func (c *countingSockets) Listening(protocols ...string) map[proc.Socket]bool {
	c.queries = append(c.queries, protocols)
	return c.FS.Listening(protocols...)
}

// TestProbeReadsNoProcessTable: a probe, which comes every second, does not read the process table,
// and only lists the sockets of the declared protocols.
func TestProbeReadsNoProcessTable(t *testing.T) {
	snapshot, fs := serving(), machine(t)
	sockets := &countingSockets{FS: fs}
	doctor := &Doctor{Snapshot: func() *supervise.Snapshot { return snapshot }, Failing: func() string { return "" }, Proc: proc.FS("/nowhere"), Sockets: sockets}
	if reason := doctor.NotReadyReason(); reason != "" {
		t.Errorf("not ready: %s", reason)
	}
	if doctor.workers.snapshot != nil {
		t.Error("the process table was read")
	}
	if diff := cmp.Diff([][]string{{"TCP"}}, sockets.queries); diff != "" {
		t.Errorf("sockets that were listed (-want +got):\n%s", diff)
	}
}
