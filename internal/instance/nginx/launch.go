package nginx

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instance/codeguard"
	"example.com/nginx-operator/internal/instance/confine"
)

// LaunchCommand is the hidden command of nginx-instance that runs nginx: the process drops its own
// rights, and then executes the program.
const LaunchCommand = "launch"

// launch is what a process gives up before it executes nginx.
type launch struct {
	// Hidden are the paths below which it cannot open files.
	Hidden []string `json:"hidden,omitempty"`
	// Data bounds the private writable memory of each process, AddressSpace all of its memory, and
	// Stack the stack of each thread. They are in bytes; 0: unlimited.
	Data         uint64 `json:"data,omitempty"`
	AddressSpace uint64 `json:"addressSpace,omitempty"`
	Stack        uint64 `json:"stack,omitempty"`
	// IgnoreBind makes bind succeed for TCP and UDP addresses without an effect.
	IgnoreBind bool `json:"ignoreBind,omitempty"`
	// Guarded reports whether process 1 serves a guard at the descriptor guardDescriptor; see package codeguard.
	Guarded bool `json:"guarded,omitempty"`
	// Expendable reports whether the process is a test next to the serving nginx.
	Expendable bool `json:"expendable,omitempty"`
}

// command returns the command line that runs nginx through Launch.
func (b Binary) command(l launch, arguments ...string) ([]string, error) {
	l.Hidden, l.Guarded = b.Hidden, b.Guarded
	text, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append([]string{"/proc/self/exe", LaunchCommand, string(text), b.Path}, arguments...), nil
}

// Launch gives up what the first argument declares, and executes the program in the others. It
// returns only on failure.
func Launch(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s: the arguments must be JSON and a program", LaunchCommand)
	}
	var l launch
	if err := json.Unmarshal([]byte(arguments[0]), &l); err != nil {
		return fmt.Errorf("%s: parse the JSON: %w", LaunchCommand, err)
	}
	// Landlock and system call filters belong to a thread, and exec keeps those of the calling
	// thread.
	runtime.LockOSThread()
	if err := l.dropPrivileges(); err != nil {
		return fmt.Errorf("%s: %w", LaunchCommand, err)
	}
	return syscall.Exec(arguments[1], arguments[1:], os.Environ())
}

func (l launch) dropPrivileges() error {
	if l.Expendable {
		// If memory runs out, this makes the kernel kill this process rather than the serving
		// nginx, if it can choose: processes of containers without guaranteed memory have scores
		// that are as high. Some sandboxes do not have the file.
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	}
	confine.Hide(l.Hidden)
	if l.IgnoreBind {
		if err := ignoreBind(); err != nil {
			return err
		}
	}
	if l.Guarded {
		enterGuard()
	}
	return errors.Join(
		// A core dump of a worker contains the keys, and nginx could serve the file.
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
		setRlimit(unix.RLIMIT_DATA, l.Data),
		setRlimit(unix.RLIMIT_AS, l.AddressSpace),
		setRlimit(unix.RLIMIT_STACK, l.Stack),
	)
}

// guardDescriptor is the first of exec.Cmd.ExtraFiles.
const guardDescriptor = 3

// enterGuard guards what nginx loads. In a sandbox that does not allow it, nginx must start, too.
func enterGuard() {
	socket := os.NewFile(guardDescriptor, "guard")
	if err := errors.Join(codeguard.Enter(socket), socket.Close()); err != nil {
		fmt.Fprintf(os.Stderr, "nginx-instance: nginx can load modules from places that it can write: %v\n", err)
	}
}

// guard makes the guard of a command that starts next. The caller calls started once it has started, or could not.
func (b Binary) guard(command *exec.Cmd, refused func(path string)) (started func(), err error) {
	if !b.Guarded {
		return func() {}, nil
	}
	socket, err := codeguard.Serve(refused)
	if err != nil {
		return nil, err
	}
	command.ExtraFiles = []*os.File{socket}
	return func() { _ = socket.Close() }, nil
}

func setRlimit(resource int, bytes uint64) error {
	if bytes == 0 {
		return nil
	}
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return nil
}
