package nginx

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// LimitedCommand is the hidden command of nginx-instance that Test calls itself by:
// limits are set for the process itself, which then becomes nginx.
const LimitedCommand = "limited"

// RunLimited limits this process's memory to the bytes of the first two arguments, its
// own and that with shared memory, and becomes the program that the others name. It
// returns only if that fails.
func RunLimited(arguments []string) error {
	const own, all, program = 0, 1, 2
	if len(arguments) <= program {
		return fmt.Errorf("%s: takes two numbers of bytes and a program", LimitedCommand)
	}
	data, dataErr := strconv.ParseUint(arguments[own], 10, 64)
	total, totalErr := strconv.ParseUint(arguments[all], 10, 64)
	if err := errors.Join(dataErr, totalErr); err != nil {
		return fmt.Errorf("%s: %w", LimitedCommand, err)
	}
	// When memory runs out nonetheless, the kernel takes this process rather than the nginx
	// that serves, if it has a choice: the scores of containers without a guaranteed
	// memory are as high. Some sandboxes do not have the file.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: data, Max: data}); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: total, Max: total}); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return syscall.Exec(arguments[program], arguments[program:], os.Environ())
}
