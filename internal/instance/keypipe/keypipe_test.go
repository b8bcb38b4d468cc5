package keypipe

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/proc"
)

const key = "-----BEGIN PRIVATE KEY-----\nKEY\n-----END PRIVATE KEY-----\n"

// started knows processes.
type started struct{ pids sync.Map }

func (s *started) has(pid int) bool { _, ok := s.pids.Load(pid); return ok }

// serve serves the key until the end of the test.
func serve(t *testing.T) (path string, mine *started) {
	t.Helper()
	mine = &started{}
	path = filepath.Join(t.TempDir(), "tls.key")
	pipe, err := Readers{Proc: proc.Root, Started: mine.has}.Serve(path, func() ([]byte, error) { return []byte(key), nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pipe.Stop)
	return path, mine
}

// read reads a file by another process, after that may have been made one of ours.
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

// TestLate reads by a pipe that was the one at the path before: a process that was held up between looking
// up the path and opening the pipe must not wait for ever.
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

// TestAgainstPolling reads while others open the pipe as fast as they can: without waiting,
// as the modules that serve files do, and to read.
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
		case "": // Refused, which a load is repeated after.
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

// TestReplaced does not write a key into a file that takes the pipe's place.
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
	// Releases the other end, if that waits at the pipe from before.
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
		// Without the other end, an end to write to cannot be opened, and nobody waits for one.
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

// poll tells whether the other end of a pipe is open.
func poll(fd int) bool {
	buffer := make([]byte, 1)
	_, err := unix.Read(fd, buffer)
	return errors.Is(err, unix.EAGAIN)
}
