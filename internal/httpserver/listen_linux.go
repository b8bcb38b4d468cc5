package httpserver

import (
	"context"
	"errors"
	"net"
	"syscall"
)

const (
	// backlog bounds how many connections wait to be accepted.
	backlog = 1024
	// socketBuffer is the size, in bytes, of the kernel's buffer of a connection for each
	// direction.
	socketBuffer = 16 << 10
)

// Listen listens on a TCP address. The kernel buffers little of what clients send or do not read, because the pod pays for
// its memory.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{Control: smallBuffers, KeepAlive: -1} // Connections end before a keep-alive would be sent.
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if err := shorten(l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// shorten bounds how many connections wait to be accepted, because the pod pays for their memory.
func shorten(l net.Listener) error {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = syscall.Listen(int(fd), backlog) })
	return errors.Join(err, failed)
}

// smallBuffers keeps the kernel from buffering much of what clients send or do not read.
func smallBuffers(_, _ string, raw syscall.RawConn) error {
	var err error
	failed := raw.Control(func(fd uintptr) {
		for _, option := range []int{syscall.SO_RCVBUF, syscall.SO_SNDBUF} {
			if err == nil {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, option, socketBuffer)
			}
		}
	})
	if failed != nil {
		return failed
	}
	return err
}
