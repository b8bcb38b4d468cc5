package nginx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Bounds of a test. 20,000 servers take nginx 0.8 s and 330 MB.
const (
	testTimeout    = 20 * time.Second
	maxTestMemory  = 1 << 30
	maxTestShare   = 512 << 20
	minTestMemory  = 6 << 20
	memoryMargin   = 8 << 20
	programMemory  = 512 << 20 // of nginx and its libraries: address space only
	maxTestMessage = 64 << 10
)

// Tested is what nginx said about a configuration.
type Tested struct {
	// Messages of the error log.
	Messages string
	// Refusal is empty when nginx accepts the configuration.
	Refusal string
}

// Memory that a test may use, in bytes.
type Memory struct {
	// Own is what nginx may write to itself.
	Own int64
	// All counts the shared memory zones, too. They cost little until they are filled,
	// and those that are served are counted a second time, so only what the container
	// could never hold is refused.
	All int64
}

// TestMemory is what a test may use, given what the container has left and its limit. A
// container without a limit has the machine's memory.
//
// It is less than what is left: where a container's memory runs out, the kernel ends all
// of it (memory.oom.group), or the process that is the largest, which is the nginx that
// serves. And what passes is loaded next, by the master process, which needs as much again.
func TestMemory(free, limit int64, limited bool) Memory {
	if !limited {
		return Memory{Own: maxTestMemory, All: limit + programMemory}
	}
	return Memory{Own: min((free-memoryMargin)/4*3, maxTestShare), All: limit + programMemory}
}

// tooLittle is why a test is not even tried; empty when it can be.
func (m Memory) tooLittle() string {
	if m.Own >= minTestMemory {
		return ""
	}
	return "too little is left of the container's memory to test a configuration: raise resources.limits.memory"
}

// Test asks nginx about the configuration in a folder, with limited time and memory. All of
// the configuration's files are written to dump, as nginx -T shows them. An error means that
// nginx could not be asked.
func (b Binary) Test(ctx context.Context, dir string, memory Memory, dump io.Writer) (Tested, error) {
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
	// A group of its own, so that what nginx started ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	if err := b.Children.Start(command); err != nil {
		return Tested{}, fmt.Errorf("start a test: %w", err)
	}
	err = b.Children.Wait(command)
	tested := Tested{Messages: messages.String()}
	switch {
	case ctx.Err() != nil:
		return Tested{}, ctx.Err()
	case limited.Err() != nil:
		tested.Refusal = fmt.Sprintf("nginx did not finish the test within %s", testTimeout)
	case err != nil:
		tested.Refusal = refusal(err, tested.Messages, memory)
	}
	return tested, nil
}

// refusal tells in words why a test ended badly, for the case that nginx did not.
func refusal(err error, messages string, memory Memory) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return "the test of the configuration failed: " + err.Error()
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && status.Signal() == syscall.SIGKILL:
		return "nginx was killed while it tested the configuration: there is too little memory for it"
	case ok && status.Signaled():
		return fmt.Sprintf("nginx crashed while it tested the configuration (%s): does a file include itself, or is a module faulty?", status.Signal())
	case strings.Contains(messages, "(12: Cannot allocate memory)"):
		return fmt.Sprintf("the configuration needs more than %d MiB of memory, all that can be spared of the container's: make it smaller, or raise resources.limits.memory", memory.Own>>20)
	case strings.Contains(messages, "(24: Too many open files)"):
		return "nginx opened too many files while it tested the configuration: does a file include itself?"
	default:
		return fmt.Sprintf("nginx refused the configuration (%s)", exit)
	}
}

// bounded keeps the beginning of what is written.
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
