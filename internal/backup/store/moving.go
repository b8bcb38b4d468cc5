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

// moving is a connection that ends when nothing at all moves while somebody waits for it. A
// slow one that moves goes on for as long as it takes, and a connection that nobody reads from
// may rest.
//
// Moving means: bytes are read, bytes are taken, or bytes that the kernel took earlier are
// acknowledged. Without the last, a megabyte in the kernel's buffer and a thin line would look
// like a store that stands still.
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

// looks is how often one looks at a connection while it may be idle.
const looks = 4

// Read waits for bytes for as long as the connection moves.
func (m *moving) Read(p []byte) (int, error) {
	m.move()
	for {
		if err := m.SetReadDeadline(time.Now().Add(m.idle / looks)); err != nil {
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

// Write waits until the bytes are taken for as long as the connection moves.
func (m *moving) Write(p []byte) (int, error) {
	m.move()
	done := 0
	for {
		if err := m.SetWriteDeadline(time.Now().Add(m.idle / looks)); err != nil {
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

// still tells whether nothing has moved for too long.
func (m *moving) still() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if unsent := m.queue(); unsent != m.unsent {
		m.unsent, m.moved = unsent, time.Now()
	}
	return time.Since(m.moved) >= m.idle
}

// queue is how many bytes the other side has not acknowledged.
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

// stalledError ends an operation: no client tries again, as each try would take as long.
type stalledError struct{ idle time.Duration }

func (e *stalledError) Error() string {
	return fmt.Sprintf("the store has done nothing for %s", e.idle)
}

// Timeout tells net.Error's callers.
func (e *stalledError) Timeout() bool { return true }

// Temporary tells Google's client not to try again.
func (e *stalledError) Temporary() bool { return false }

// RetryableError tells Amazon's.
func (e *stalledError) RetryableError() bool { return false }

// NonRetriable tells Azure's.
func (e *stalledError) NonRetriable() {}
