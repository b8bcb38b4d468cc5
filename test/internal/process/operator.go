// Package process runs the operator as a process on this machine, with the account and the
// permissions that it has in a cluster.
package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/nginx-operator/test/testenv"
)

// Build builds the operator and returns the path of the program.
func Build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "nginx-operator")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/nginx-operator")
	build.Dir = testenv.Root()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return program, nil
}

// Operator is a running operator process.
type Operator struct {
	command *exec.Cmd
	log     string
	// ended is closed when the process has ended. failure is then its result.
	ended   chan struct{}
	failure error
}

// Command describes how to start an operator.
type Command struct {
	// Program, Kubeconfig and Log are file paths. Start creates Log.
	Program, Kubeconfig, Log string
	Arguments                []string
	// Environment is added to the environment of this program, as name=value.
	Environment []string
}

// Start starts an operator.
func (c Command) Start() (*Operator, error) {
	out, err := os.Create(c.Log)
	if err != nil {
		return nil, err
	}
	command := exec.Command(c.Program, c.Arguments...)
	command.Env = slices.Concat(os.Environ(), []string{"KUBECONFIG=" + c.Kubeconfig}, c.Environment)
	command.Stdout, command.Stderr = out, out
	// The process dies with this program, however that ends.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = command.Start()
	// The process has its own descriptor for the log.
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	o := &Operator{command: command, log: c.Log, ended: make(chan struct{})}
	go func() {
		o.failure = command.Wait()
		close(o.ended)
	}()
	return o, nil
}

// Alive returns a context that is cancelled when the process ends.
func (o *Operator) Alive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-o.ended:
			cancel(fmt.Errorf("the operator ended: %w\n%s", o.failure, o.logTail()))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Stop ends the process and returns the processor time that it has used.
func (o *Operator) Stop() (time.Duration, error) {
	if err := o.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, fmt.Errorf("stop the operator: %w", err)
	}
	<-o.ended
	if o.failure != nil {
		return 0, fmt.Errorf("the operator failed: %w\n%s", o.failure, o.logTail())
	}
	state := o.command.ProcessState
	return state.UserTime() + state.SystemTime(), nil
}

// Kill ends the process without any cleanup, as when a node fails.
func (o *Operator) Kill() error {
	if err := o.command.Process.Kill(); err != nil {
		return fmt.Errorf("kill the operator: %w", err)
	}
	<-o.ended
	if o.command.ProcessState.Exited() {
		return fmt.Errorf("the operator ended before it was killed: %w\n%s", o.failure, o.logTail())
	}
	return nil
}

// Used returns the processor time that the process has used so far.
func (o *Operator) Used() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of the operator: %w\n%s", err, o.logTail())
	}
	stat, err := parseStat(string(text))
	return stat.used, err
}

// logTail returns the last lines of the log.
func (o *Operator) logTail() string {
	text, err := os.ReadFile(o.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// Memory is the memory of a process, in bytes.
type Memory struct {
	// Resident is the current size, and Peak is the maximum since the process started.
	Resident, Peak int64
}

// Memory returns the memory of the process.
func (o *Operator) Memory() (Memory, error) {
	m, err := MemoryOf(o.command.Process.Pid)
	if err != nil {
		return m, fmt.Errorf("%w\n%s", err, o.logTail())
	}
	return m, nil
}

// MemoryOf returns the memory of a process.
func MemoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of a process: %w", err)
	}
	return parseMemory(text)
}

// parseMemory reads the text of /proc/PID/status
// (https://man7.org/linux/man-pages/man5/proc_pid_status.5.html).
func parseMemory(status []byte) (Memory, error) {
	var m Memory
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		target := map[string]*int64{"VmRSS": &m.Resident, "VmHWM": &m.Peak}[name]
		if target == nil {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err != nil {
			return m, fmt.Errorf("%s of the process: %w", name, err)
		}
		*target = kilobytes << 10
	}
	if m.Resident == 0 || m.Peak == 0 {
		return m, errors.New("/proc has no memory of the process: has it ended?")
	}
	return m, lines.Err()
}
