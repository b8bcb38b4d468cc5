package nginx

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// LimitedCommand is the hidden command of nginx-instance that runs a program with limits:
// a process sets its own limits and then becomes the program.
const LimitedCommand = "limited"

// limits of a program.
type limits struct {
	// Data bounds the private writable memory of each process, AddressSpace all of its
	// memory, and Stack the stack of each thread; in bytes, 0: no bound.
	Data         uint64 `json:"data,omitempty"`
	AddressSpace uint64 `json:"addressSpace,omitempty"`
	Stack        uint64 `json:"stack,omitempty"`
	// IgnoreBind makes bind succeed for TCP and UDP addresses without doing anything.
	IgnoreBind bool `json:"ignoreBind,omitempty"`
}

// command is what runs a program with the limits.
func (l limits) command(program ...string) ([]string, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append([]string{"/proc/self/exe", LimitedCommand, string(text)}, program...), nil
}

// RunLimited sets the limits of the first argument and becomes the program that the others
// name. It returns only if that fails.
func RunLimited(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s: takes limits as JSON, and a program", LimitedCommand)
	}
	var l limits
	if err := json.Unmarshal([]byte(arguments[0]), &l); err != nil {
		return fmt.Errorf("%s: read the limits: %w", LimitedCommand, err)
	}
	// System call filters belong to a thread, and exec keeps those of the thread that calls it.
	runtime.LockOSThread()
	if err := l.set(); err != nil {
		return fmt.Errorf("%s: %w", LimitedCommand, err)
	}
	return syscall.Exec(arguments[1], arguments[1:], os.Environ())
}

func (l limits) set() error {
	// When memory runs out nonetheless, the kernel takes this process rather than the nginx
	// that serves, if it has a choice: the scores of containers without a guaranteed
	// memory are as high. Some sandboxes do not have the file.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	if l.IgnoreBind {
		if err := ignoreBind(); err != nil {
			return err
		}
	}
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
		limit(unix.RLIMIT_DATA, l.Data),
		limit(unix.RLIMIT_AS, l.AddressSpace),
		limit(unix.RLIMIT_STACK, l.Stack),
	)
}

func limit(resource int, bytes uint64) error {
	if bytes == 0 {
		return nil
	}
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return nil
}
