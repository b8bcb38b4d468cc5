package reap

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/proc"
)

// TestOrphans: only orphans are reaped. The test process becomes a subreaper, which gets orphans
// like process 1.
func TestOrphans(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal("this kernel has no subreapers (Linux 3.4):", err)
	}
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) })
	children := NewChildren()

	// The exit code of our own child must not get lost.
	ours := exec.Command("/bin/sh", "-c", "exit 7")
	if err := children.Start(ours); err != nil {
		t.Fatal(err)
	}
	zombie(t, ours.Process.Pid)

	orphan := leave(t, children)
	zombie(t, orphan)

	if n := children.ReapOrphans(proc.Root); n != 1 {
		t.Errorf("%d orphans were reaped, want 1", n)
	}
	if _, there := proc.Root.Process(orphan); there {
		t.Error("the orphan is there still")
	}
	if err := children.Wait(ours); err == nil || ours.ProcessState.ExitCode() != 7 {
		t.Errorf("our own child ended with %v (%v), want code 7", ours.ProcessState, err)
	}
	if n := children.ReapOrphans(proc.Root); n != 0 {
		t.Errorf("%d orphans were reaped of none", n)
	}
}

// leave starts a shell that ends at once and leaves a process behind, and returns its ID.
func leave(t *testing.T, children *Children) int {
	t.Helper()
	parent := exec.Command("/bin/sh", "-c", "sleep 0.05 >/dev/null & echo $!")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := children.Start(parent); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := children.Wait(parent); err != nil {
		t.Fatal(err)
	}
	return orphan
}

func TestStartFails(t *testing.T) {
	children := NewChildren()
	if err := children.Start(exec.Command("/none")); err == nil || len(children.mine) != 0 {
		t.Errorf("error %v, and %v are waited for", err, children.mine)
	}
}

// zombie waits until a child of this process has ended.
func zombie(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if p, ok := proc.Root.Process(pid); ok && p.Zombie && p.Parent == os.Getpid() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is no zombie of ours", pid)
		}
	}
}
