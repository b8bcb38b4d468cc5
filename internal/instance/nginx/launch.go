package nginx

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/confine"
)

// LaunchCommand is the hidden command of nginx-instance that runs nginx: a process gives up
// rights for itself, and then becomes the program.
const LaunchCommand = "launch"

// launch is what a process gives up before it becomes nginx.
type launch struct {
	// Hidden are paths below which it cannot open files.
	Hidden []string `json:"hidden,omitempty"`
	// Data bounds the private writable memory of each process, AddressSpace all of its
	// memory, and Stack the stack of each thread; in bytes, 0: no bound.
	Data         uint64 `json:"data,omitempty"`
	AddressSpace uint64 `json:"addressSpace,omitempty"`
	Stack        uint64 `json:"stack,omitempty"`
	// IgnoreBind makes bind succeed for TCP and UDP addresses without doing anything.
	IgnoreBind bool `json:"ignoreBind,omitempty"`
	// Expendable tells that it is a test beside the nginx that serves.
	Expendable bool `json:"expendable,omitempty"`
}

// command is what runs nginx.
func (b Binary) command(l launch, arguments ...string) ([]string, error) {
	l.Hidden = b.Hidden
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append([]string{"/proc/self/exe", LaunchCommand, string(text), b.Path}, arguments...), nil
}

// Launch gives up what the first argument says and becomes the program that the others
// name. It returns only if that fails.
func Launch(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s: takes JSON, and a program", LaunchCommand)
	}
	var l launch
	if err := json.Unmarshal([]byte(arguments[0]), &l); err != nil {
		return fmt.Errorf("%s: read what to give up: %w", LaunchCommand, err)
	}
	// Landlock and system call filters belong to a thread, and exec keeps those of the one that calls it.
	runtime.LockOSThread()
	if err := l.giveUp(); err != nil {
		return fmt.Errorf("%s: %w", LaunchCommand, err)
	}
	return syscall.Exec(arguments[1], arguments[1:], os.Environ())
}

func (l launch) giveUp() error {
	if l.Expendable {
		// When memory runs out nonetheless, the kernel takes this process rather than the nginx
		// that serves, if it has a choice: the scores of containers without a guaranteed
		// memory are as high. Some sandboxes do not have the file.
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	}
	confine.Hide(l.Hidden)
	if l.IgnoreBind {
		if err := ignoreBind(); err != nil {
			return err
		}
	}
	return errors.Join(
		// A core dump of a worker holds the keys, and is a file that it could serve.
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
