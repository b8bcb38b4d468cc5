package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Dial connects to an address in the network namespace of a process. A socket stays in the
// namespace that it was created in.
func Dial(ctx context.Context, pid int, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, 1)
	go func() {
		// The thread is not unlocked: Go ends it with the goroutine, so that nothing else runs in
		// the other namespace.
		runtime.LockOSThread()
		if err := enterNetwork(pid); err != nil {
			results <- result{nil, err}
			return
		}
		// A Service without pods does not refuse connections.
		dialer := net.Dialer{Timeout: 5 * time.Second}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		results <- result{conn, err}
	}()
	r := <-results
	return r.conn, r.err
}

// enterNetwork moves the calling thread to the network namespace of a process.
func enterNetwork(pid int) error {
	namespace, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening the network namespace of process %d: %w", pid, err)
	}
	return errors.Join(unix.Setns(namespace, unix.CLONE_NEWNET), unix.Close(namespace))
}
