package load

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// ended reports whether there is something to read on an idle connection. Between two requests this
// can only be its end: a FIN, a reset, or the TLS alert that closes it.
func ended(conn net.Conn) bool {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	system, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return true
	}
	quiet := false
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err != nil || !quiet
}
