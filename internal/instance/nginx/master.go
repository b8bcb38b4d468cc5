package nginx

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// lastWords is how long the error log is read after the master process has ended. Its workers keep
// the pipe open while they live.
const lastWords = 200 * time.Millisecond

// Master is a running nginx.
type Master struct {
	PID int
	// Log holds the last lines of the error log that nginx writes to stderr, not redacted.
	Log *Tail
	// Ended is closed when the master process has ended; then Outcome returns how.
	Ended chan struct{}
	err   error
}

// Start starts nginx with the configuration in a folder. It copies the error log to messages,
// redacted line by line.
func (b Binary) Start(dir string, messages io.Writer, redact func(line string) string) (*Master, error) {
	arguments, err := b.command(launch{}, b.arguments(dir)...)
	if err != nil {
		return nil, fmt.Errorf("start nginx: %w", err)
	}
	return b.start(exec.Command(arguments[0], arguments[1:]...), messages, redact)
}

func (b Binary) start(command *exec.Cmd, messages io.Writer, redact func(line string) string) (*Master, error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start nginx: %w", err)
	}
	// This is a file because with another writer, Wait would block until the last worker closes its
	// copy.
	command.Stdout, command.Stderr = os.Stdout, writer
	// nginx gets its own process group, because the instance translates the signals to its own
	// group.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	started, err := b.guard(command, func(path string) {
		slog.Warn("nginx did not load a file that the pod can write", "path", redact(path))
	})
	if err == nil {
		err = b.Children.Start(command)
		started()
	}
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		return nil, fmt.Errorf("start nginx: %w", err)
	}
	master := &Master{PID: command.Process.Pid, Log: &Tail{Redact: redact}, Ended: make(chan struct{})}
	copied := make(chan struct{})
	go func() {
		master.Log.Copy(reader, messages)
		close(copied)
	}()
	go func() {
		master.err = b.Children.Wait(command)
		_ = reader.SetReadDeadline(time.Now().Add(lastWords))
		<-copied
		_ = reader.Close()
		close(master.Ended)
	}()
	return master, nil
}

// Running reports whether the master process runs.
func (m *Master) Running() bool {
	if m == nil {
		return false
	}
	select {
	case <-m.Ended:
		return false
	default:
		return true
	}
}

// Outcome returns how the master process ended, once Ended is closed.
func (m *Master) Outcome() string {
	if m.err == nil {
		return "exit status 0"
	}
	return m.err.Error()
}

// Kill kills the master process and its workers, and waits until the master process has ended.
func (m *Master) Kill() {
	// They have their own process group. An error means that they have ended already.
	_ = syscall.Kill(-m.PID, syscall.SIGKILL)
	<-m.Ended
}

// Signal sends a signal to the master process.
func (m *Master) Signal(signal syscall.Signal) error {
	if !m.Running() {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(m.PID, signal); err != nil {
		return fmt.Errorf("send %s to nginx: %w", signal, err)
	}
	return nil
}
