package nginx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// These bound a test. With 20,000 servers, nginx needs 0.8 s and 330 MB.
const (
	testTimeout    = 20 * time.Second
	maxTestMemory  = 1 << 30
	maxTestShare   = 512 << 20
	minTestMemory  = 6 << 20
	memoryMargin   = 8 << 20
	programMemory  = 512 << 20 // for nginx and its libraries: address space only
	maxTestMessage = 64 << 10
)

// Tested is the result of a test of a configuration.
type Tested struct {
	// Messages are the lines of the error log.
	Messages string
	// Refusal is why the configuration is not accepted; empty if it is.
	Refusal string
	// Exhausted reports whether nginx ran out of memory or of descriptors. Refusal then says what to change.
	Exhausted bool
	// NotLoaded is the path of the first file that nginx could not load, because the pod can write it; empty: there was none.
	NotLoaded string
}

// ConfigTestLimits is the memory that a test may use, in bytes.
type ConfigTestLimits struct {
	// Own bounds nginx's private memory.
	Own int64
	// All also includes the shared memory zones. They cost little until they are filled, and the
	// zones that are in use already are counted twice, so All only excludes what the container
	// could never hold.
	All int64
}

// NewConfigTestLimits returns the memory that a test may use, given the container's free memory and its
// limit. For a container without a limit, these are the machine's.
//
// A test may use less than the free memory: if a container's memory runs out, the kernel kills the
// whole container (memory.oom.group), or its largest process, which is the serving nginx. Also, a
// configuration that passes is loaded next by the master process, which needs as much again.
func NewConfigTestLimits(free, limit int64, limited bool) ConfigTestLimits {
	if !limited {
		return ConfigTestLimits{Own: maxTestMemory, All: limit + programMemory}
	}
	return ConfigTestLimits{Own: min((free-memoryMargin)/4*3, maxTestShare), All: limit + programMemory}
}

// tooLittle returns why a test is not even tried, or "" if there is enough memory.
func (m ConfigTestLimits) tooLittle() string {
	if m.Own >= minTestMemory {
		return ""
	}
	return "too little is left of the container's memory to test a configuration: raise resources.limits.memory"
}

// Test tests the configuration in a folder with nginx, with limited time and memory. It writes all
// files of the configuration to dump, in the format of `nginx -T`. An error means that the test
// could not be done.
func (b Binary) Test(ctx context.Context, dir string, memory ConfigTestLimits, dump io.Writer) (Tested, error) {
	if refusal := memory.tooLittle(); refusal != "" {
		return Tested{Refusal: refusal}, nil
	}
	limited, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	messages := &bounded{left: maxTestMessage}
	arguments, err := b.command(launch{Data: uint64(memory.Own), AddressSpace: uint64(memory.All), Expendable: true}, append([]string{"-T"}, b.arguments(dir)...)...)
	if err != nil {
		return Tested{}, fmt.Errorf("start a test: %w", err)
	}
	command := exec.CommandContext(limited, arguments[0], arguments[1:]...)
	command.Stdout, command.Stderr = dump, messages
	// nginx gets its own process group, so that its children are killed with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	var notLoaded atomic.Pointer[string]
	started, err := b.guard(command, func(path string) { notLoaded.CompareAndSwap(nil, &path) })
	if err != nil {
		return Tested{}, fmt.Errorf("start a test: %w", err)
	}
	err = b.Children.Start(command)
	started()
	if err != nil {
		return Tested{}, fmt.Errorf("start a test: %w", err)
	}
	err = b.Children.Wait(command)
	tested := Tested{Messages: messages.String()}
	if path := notLoaded.Load(); path != nil {
		tested.NotLoaded = *path
	}
	switch {
	case ctx.Err() != nil:
		return Tested{}, ctx.Err()
	case limited.Err() != nil:
		tested.Refusal = fmt.Sprintf("nginx did not finish the test within %s", testTimeout)
	case err != nil:
		tested.Refusal, tested.Exhausted = refusal(err, tested.Messages, memory)
	}
	return tested, nil
}

// refusal describes why a test failed, and reports whether nginx ran out of something.
func refusal(err error, messages string, memory ConfigTestLimits) (why string, exhausted bool) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "the test of the configuration failed: " + err.Error(), false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && status.Signal() == syscall.SIGKILL:
		return "nginx was killed while it tested the configuration: there is too little memory for it", false
	case ok && status.Signaled():
		return fmt.Sprintf("nginx crashed while it tested the configuration (%s): does a file include itself, or is a module faulty?", status.Signal()), false
	case strings.Contains(messages, "(12: Cannot allocate memory)"):
		return fmt.Sprintf("the configuration needs more than %d MiB of memory, all that can be spared of the container's: make it smaller, or raise resources.limits.memory", memory.Own>>20), true
	case strings.Contains(messages, "(24: Too many open files)"):
		return "nginx opened too many files while it tested the configuration: does a file include itself?", true
	default:
		return fmt.Sprintf("nginx refused the configuration (%s)", exit), false
	}
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := p[:min(len(p), b.left)]
	b.left -= len(keep)
	if _, err := b.Buffer.Write(keep); err != nil {
		return 0, err
	}
	return len(p), nil
}
