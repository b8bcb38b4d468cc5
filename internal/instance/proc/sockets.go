package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Socket is a port on which somebody listens.
type Socket struct {
	// Protocol is TCP or UDP.
	Protocol string
	Port     int
}

// tables are the files of /proc/net with the sockets of a protocol.
var tables = map[string][]string{"TCP": {"tcp", "tcp6"}, "UDP": {"udp", "udp6"}}

// Listening returns the listening sockets of the protocols, other than those bound to
// the loopback address. Asking the kernel does not open a connection, which a stream proxy would
// pass on to its upstream.
func (f FS) Listening(protocols ...string) map[Socket]bool {
	found := map[Socket]bool{}
	for _, protocol := range protocols {
		for _, file := range tables[protocol] {
			text, err := os.ReadFile(filepath.Join(string(f), "net", file))
			if err != nil {
				// Without IPv6 there are no such tables.
				continue
			}
			for line := range strings.Lines(string(text)) {
				if port, ok := parseSocket(line, protocol); ok {
					found[Socket{protocol, port}] = true
				}
			}
		}
	}
	return found
}

// States of sockets, from the kernel's include/net/tcp_states.h. A UDP socket that is
// not connected is in the state 07.
var listening = map[string]string{"TCP": "0A", "UDP": "07"}

func parseSocket(line, protocol string) (int, bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[3] != listening[protocol] {
		return 0, false
	}
	address, hex, ok := strings.Cut(fields[1], ":")
	if !ok || loopback(address) {
		return 0, false
	}
	port, err := strconv.ParseUint(hex, 16, 16)
	return int(port), err == nil
}

// loopback knows 127.0.0.0/8 and ::1, written as the kernel does: in words of the
// machine's byte order, which is the little one on everything that runs Kubernetes
// widely.
func loopback(address string) bool {
	const six = "00000000000000000000000001000000"
	return address == six || (len(address) == 8 && strings.HasSuffix(address, "7F"))
}
