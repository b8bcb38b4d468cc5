package nginx

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// LimitedCommand is the hidden command of nginx-instance that Test calls itself by:
// limits are set for the process itself, which then becomes nginx.
const LimitedCommand = "limited"

// RunLimited limits this process's memory to the bytes of the first argument and
// becomes the program that the others name. It returns only if that fails.
//
// RLIMIT_DATA counts the memory that a process writes to. RLIMIT_AS would count the
// shared memory zones of caches, too, which cost nothing until they are used.
func RunLimited(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("%s: takes a number of bytes and a program", LimitedCommand)
	}
	data, err := strconv.ParseUint(arguments[0], 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", LimitedCommand, err)
	}
	// When memory runs out nonetheless, the kernel takes this process, and not the
	// nginx that serves. Some sandboxes do not have the file.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600)
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: data, Max: data}); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return syscall.Exec(arguments[1], arguments[1:], os.Environ())
}
