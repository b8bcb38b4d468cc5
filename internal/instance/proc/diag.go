package proc

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Diag lists listening sockets with sock_diag(7). The kernel then walks the listening sockets only,
// while for /proc/net/tcp it walks the table of all connections.
type Diag struct {
	// Fallback is read if the kernel or a sandbox does not offer sock_diag.
	Fallback FS

	mu   sync.Mutex
	conn *netlink.Conn
	// warned is set after a failure was logged, so that it is not logged for each probe.
	warned bool
}

// diagTimeout bounds a dump. The kernel usually answers at once.
const diagTimeout = time.Second

// Listening returns the listening sockets of the protocols, except those that are bound to a
// loopback address.
func (d *Diag) Listening(protocols ...string) map[Socket]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, err := d.dump(protocols)
	if err == nil {
		d.warned = false
		return found
	}
	if d.conn != nil {
		_ = d.conn.Close()
		d.conn = nil
	}
	if !d.warned {
		slog.Warn("sock_diag does not list the listening sockets; reading /proc/net instead, which costs more", "error", err)
		d.warned = true
	}
	return d.Fallback.Listening(protocols...)
}

func (d *Diag) dump(protocols []string) (map[Socket]bool, error) {
	if d.conn == nil {
		conn, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
		if err != nil {
			return nil, err
		}
		d.conn = conn
	}
	if err := d.conn.SetDeadline(time.Now().Add(diagTimeout)); err != nil {
		return nil, err
	}
	found := map[Socket]bool{}
	for _, protocol := range protocols {
		for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
			answers, err := d.conn.Execute(diagRequest(family, protocol))
			if err != nil {
				return nil, fmt.Errorf("list %s sockets: %w", protocol, err)
			}
			for _, answer := range answers {
				if port, ok := parseDiag(answer.Data); ok {
					found[Socket{protocol, port}] = true
				}
			}
		}
	}
	return found, nil
}

// transports maps a protocol to its number and to the state of its listening sockets.
var transports = map[string]struct{ protocol, state uint8 }{
	"TCP": {unix.IPPROTO_TCP, unix.BPF_TCP_LISTEN},
	"UDP": {unix.IPPROTO_UDP, unix.BPF_TCP_CLOSE},
}

// diagRequest is an inet_diag_req_v2 of include/uapi/linux/inet_diag.h.
func diagRequest(family uint8, protocol string) netlink.Message {
	const size, states = 56, 4
	data := make([]byte, size)
	data[0], data[1] = family, transports[protocol].protocol
	binary.NativeEndian.PutUint32(data[states:], 1<<transports[protocol].state)
	return netlink.Message{
		Header: netlink.Header{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: netlink.Request | netlink.Dump},
		Data:   data,
	}
}

// parseDiag returns the port of an inet_diag_msg, and false for a loopback address.
func parseDiag(data []byte) (port int, ok bool) {
	const size, portAt, addressAt = 72, 4, 8
	if len(data) < size {
		return 0, false
	}
	address := netip.AddrFrom16([16]byte(data[addressAt : addressAt+16]))
	if data[0] == unix.AF_INET {
		address = netip.AddrFrom4([4]byte(data[addressAt : addressAt+4]))
	}
	return int(binary.BigEndian.Uint16(data[portAt:])), !address.Unmap().IsLoopback()
}
