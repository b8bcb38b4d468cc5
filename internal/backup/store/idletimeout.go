package store

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// moving is a connection that ends when it makes no progress while a caller waits for it. A slow
// connection may take as long as it needs, and one that no caller uses may be idle.
//
// Progress means that bytes are received, that the kernel accepts bytes, or that the peer acknowledges
// bytes that the kernel accepted earlier. Without the last, a full buffer of the kernel on a slow line
// would look like a store that makes no progress.
type moving struct {
	net.Conn
	idle time.Duration

	mu     sync.Mutex
	moved  time.Time
	unsent int
}

func newMoving(c net.Conn, idle time.Duration) *moving {
	return &moving{Conn: c, idle: idle, moved: time.Now()}
}

// checks is how often a connection is checked per idle timeout.
const checks = 4

// Read waits for data as long as the connection makes progress.
func (m *moving) Read(p []byte) (int, error) {
	m.move()
	for {
		if err := m.SetReadDeadline(time.Now().Add(m.idle / checks)); err != nil {
			return 0, err
		}
		n, err := m.Conn.Read(p)
		if n > 0 {
			m.move()
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if m.still() {
			return 0, &stalledError{m.idle}
		}
	}
}

// Write waits until the data is accepted, as long as the connection makes progress.
func (m *moving) Write(p []byte) (int, error) {
	m.move()
	done := 0
	for {
		if err := m.SetWriteDeadline(time.Now().Add(m.idle / checks)); err != nil {
			return done, err
		}
		n, err := m.Conn.Write(p[done:])
		done += n
		if n > 0 {
			m.move()
		}
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return done, err
		}
		if m.still() {
			return done, &stalledError{m.idle}
		}
	}
}

func (m *moving) move() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.moved = time.Now()
}

// still reports whether there has been no progress for the idle timeout.
func (m *moving) still() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if unsent := m.queue(); unsent != m.unsent {
		m.unsent, m.moved = unsent, time.Now()
	}
	return time.Since(m.moved) >= m.idle
}

// queue returns the number of bytes that the peer has not acknowledged.
func (m *moving) queue() int {
	c, ok := m.Conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	queue := 0
	if err := raw.Control(func(fd uintptr) {
		queue, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ)
	}); err != nil {
		return 0
	}
	return queue
}

// stalledError ends an operation. Clients must not retry it, since each attempt would take as long.
type stalledError struct{ idle time.Duration }

func (e *stalledError) Error() string {
	return fmt.Sprintf("the store has made no progress for %s", e.idle)
}

// Timeout implements net.Error.
func (e *stalledError) Timeout() bool { return true }

// Temporary prevents retries by Google's client.
func (e *stalledError) Temporary() bool { return false }

// RetryableError prevents retries by Amazon's client.
func (e *stalledError) RetryableError() bool { return false }

// NonRetriable prevents retries by Azure's client.
func (e *stalledError) NonRetriable() {}
