package keypipe

import (
	"bytes"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/test/eventually"
)

// stored is a key, and key is what a process reads of it.
const (
	stored = "-----BEGIN PRIVATE KEY-----\nS0VZ\n-----END PRIVATE KEY-----\n"
	key    = "\x01\n" + stored
)

// started is a set of processes that count as started by this program.
type started struct{ pids sync.Map }

func (s *started) has(pid int) bool { _, ok := s.pids.Load(pid); return ok }

// serve serves the key until the end of the test.
func serve(t *testing.T) (path string, mine *started) {
	t.Helper()
	mine = &started{}
	return serveTo(t, mine.has), mine
}

// serveTo serves the key to the processes that count as started by this program.
func serveTo(t *testing.T, started func(pid int) bool) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tls.key")
	pipe, err := (&Readers{Proc: proc.Root, Started: started}).Serve(path, func() ([]byte, error) { return []byte(stored), nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pipe.Stop)
	return path
}

// read reads a file in another process, and calls before with its process ID first.
func read(t *testing.T, path string, before func(pid int)) string {
	t.Helper()
	command := exec.Command("/bin/sh", "-c", `read go; exec cat "$0"`, path)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	before(command.Process.Pid)
	if _, err := io.WriteString(input, "go\n"); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("read: %v", err)
	}
	return output.String()
}

func TestOnlyOursRead(t *testing.T) {
	path, mine := serve(t)
	ours := func(pid int) { mine.pids.Store(pid, true) }
	for range 20 {
		if got := read(t, path, ours); got != key {
			t.Errorf("one of ours reads %q", got)
		}
		if got := read(t, path, func(int) {}); got != "" {
			t.Errorf("a stranger reads %q", got)
		}
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != os.ModeNamedPipe|mode {
		t.Errorf("the path is %v (%v)", info, err)
	}
}

// TestNotInXML: PEM cannot be a part of a document of XML, and is read as before. Other formats are not changed.
func TestNotInXML(t *testing.T) {
	const combined = "-----BEGIN CERTIFICATE-----\nQw==\n-----END CERTIFICATE-----\n" + stored
	for _, text := range []string{stored, combined, "Bag Attributes\n" + stored} {
		got := forbidInXML([]byte(text))
		before, _ := pem.Decode([]byte(text))
		if block, _ := pem.Decode(got); !reflect.DeepEqual(block, before) || !strings.HasSuffix(string(got), text) {
			t.Errorf("%q is not read as %q", got, text)
		}
		if err := xml.Unmarshal(fmt.Appendf(nil, "<page>%s</page>", got), new(string)); err == nil {
			t.Errorf("%q is accepted in XML", got)
		}
	}
	for _, text := range []string{"", "password\n", "\x30\x82"} {
		if got := forbidInXML([]byte(text)); string(got) != text {
			t.Errorf("%q is passed as %q", text, got)
		}
	}
}

// TestDenied: the last key that was not passed to any process is named.
func TestDenied(t *testing.T) {
	readers := &Readers{Proc: proc.Root, Started: func(int) bool { return false }}
	var path string
	for _, name := range []string{"first.key", "second.key"} {
		path = filepath.Join(t.TempDir(), name)
		pipe, err := readers.Serve(path, func() ([]byte, error) { return []byte(stored), nil })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pipe.Stop)
	}
	read(t, path, func(int) {})
	// A reader that closes its end late is denied once more.
	if got := readers.Denied(); got.Count < 1 || got.Last != path {
		t.Errorf("denied: %+v, want %s", got, path)
	}
}

// TestLate: a process that is delayed between the lookup of the path and the opening of the pipe
// does not wait forever.
func TestLate(t *testing.T) {
	path, mine := serve(t)
	ours := func(pid int) { mine.pids.Store(pid, true) }
	late := path + ".late"
	if err := os.Link(path, late); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path, ours); got != key {
		t.Errorf("the first one reads %q", got)
	}
	for range 2 {
		if got := read(t, late, ours); got != key {
			t.Errorf("a late one reads %q", got)
		}
	}
	if got := read(t, late, func(int) {}); got != "" {
		t.Errorf("a late stranger reads %q", got)
	}
}

// TestAgainstPolling: other processes that open the pipe as fast as they can, with O_NONBLOCK like
// modules that serve files, or blocking, never read the key.
func TestAgainstPolling(t *testing.T) {
	path, mine := serve(t)
	var stop atomic.Bool
	var opened atomic.Int64
	poll := exec.Command("/bin/sh", "-c", `while [ ! -e "$1" ]; do cat "$0" 2>/dev/null; done`, path, filepath.Join(t.TempDir(), "stop"))
	var stolen bytes.Buffer
	poll.Stdout = &stolen
	if err := poll.Start(); err != nil {
		t.Fatal(err)
	}
	var pollers sync.WaitGroup
	pollers.Go(func() {
		for !stop.Load() {
			if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
				opened.Add(1)
				_ = unix.Close(fd)
			}
		}
	})
	whole := 0
	for range 8 {
		switch got := read(t, path, func(pid int) { mine.pids.Store(pid, true) }); got {
		case key:
			whole++
		case "": // Refused; the load is repeated then.
		default:
			t.Errorf("one of ours reads %q", got)
		}
	}
	stop.Store(true)
	pollers.Wait()
	_ = poll.Process.Kill()
	_ = poll.Wait()
	if stolen.Len() > 0 {
		t.Errorf("a stranger reads %q", stolen.String())
	}
	t.Logf("%d of 8 read, while the pipe was opened %d times without waiting", whole, opened.Load())
}

// TestReplaced: a key is never written into a file that replaces the pipe.
func TestReplaced(t *testing.T) {
	path, mine := serve(t)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	// This releases the other end if it waits at the old pipe.
	if fd, err := unix.Open(path+".old", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err == nil {
		_ = unix.Close(fd)
	}
	for info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0; info, err = os.Lstat(path) {
		if t.Context().Err() != nil {
			t.Fatal("there is no pipe again")
		}
	}
	if got := read(t, path, func(pid int) { mine.pids.Store(pid, true) }); got != key {
		t.Errorf("the pipe that came back gives %q", got)
	}
	if written, err := io.ReadAll(file); err != nil || len(written) > 0 {
		t.Errorf("the file that took the pipe's place has %q (%v)", written, err)
	}
}

func TestStop(t *testing.T) {
	path, _ := serve(t)
	other := Readers{Proc: proc.Root, Started: func(int) bool { return true }}
	pipe, err := other.Serve(path+".other", func() ([]byte, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	pipe.Stop()
	deadline := time.After(10 * time.Second)
	for {
		// Without the other end, opening the write end fails, and no process waits for one.
		fd, err := unix.Open(path+".other", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		alive := poll(fd)
		_ = unix.Close(fd)
		if !alive {
			return
		}
		select {
		case <-deadline:
			t.Fatal("the pipe is still served")
		default:
		}
	}
}

// poll reports whether the other end of a pipe is open.
func poll(fd int) bool {
	buffer := make([]byte, 1)
	_, err := unix.Read(fd, buffer)
	return errors.Is(err, unix.EAGAIN)
}

// TestAgainstHolders: a process that opens the pipe while others are being refused does not have to share a pipe with those,
// which never close it, such as nginx's open_file_cache.
func TestAgainstHolders(t *testing.T) {
	var mine started
	refuse := make(chan struct{})
	path := serveTo(t, func(pid int) bool {
		if mine.has(pid) {
			return true
		}
		<-refuse
		return false
	})
	for range 3 {
		hold(t, path)
	}
	ours := func(pid int) { mine.pids.Store(pid, true) }
	if got := read(t, path, ours); got != key {
		t.Errorf("while others are being refused, one of ours reads %q", got)
	}
	close(refuse)
	if got := read(t, path, ours); got != key {
		t.Errorf("while others hold their pipes, one of ours reads %q", got)
	}
}

// hold starts a process that opens the pipe and never closes it, and waits until the path leads to the next pipe.
func hold(t *testing.T, path string) {
	t.Helper()
	command := exec.Command("/bin/sh", "-c", `exec 3<"$0"; read end`, path)
	if _, err := command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	eventually.Holds(t, 20*time.Second, "the process has a pipe of its own", func() bool {
		held, err := os.Stat(fmt.Sprintf("/proc/%d/fd/3", command.Process.Pid))
		next, missing := os.Lstat(path)
		return err == nil && missing == nil && held.Mode()&os.ModeNamedPipe != 0 && !os.SameFile(held, next)
	})
}
