package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Socket is a port with a listening socket.
type Socket struct {
	// Protocol is TCP or UDP.
	Protocol string
	Port     int
}

// tables are the files in /proc/net that list the sockets of a protocol.
var tables = map[string][]string{"TCP": {"tcp", "tcp6"}, "UDP": {"udp", "udp6"}}

// Listening returns the listening sockets of the protocols, except those that are bound to a
// loopback address. It opens no connection to them, because a stream proxy would pass that on to
// its upstream.
func (f FS) Listening(protocols ...string) map[Socket]bool {
	found := map[Socket]bool{}
	for _, protocol := range protocols {
		for _, file := range tables[protocol] {
			text, err := os.ReadFile(filepath.Join(string(f), "net", file))
			if err != nil {
				// Without IPv6, its tables are missing.
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

// listening are the states of listening sockets, from the kernel's include/net/tcp_states.h. An
// unconnected UDP socket is in state 07.
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

// loopback reports whether an address is in 127.0.0.0/8 or is ::1. The kernel prints addresses as
// words in the machine's byte order, which is little-endian on all common Kubernetes platforms.
func loopback(address string) bool {
	const six = "00000000000000000000000001000000"
	return address == six || (len(address) == 8 && strings.HasSuffix(address, "7F"))
}
