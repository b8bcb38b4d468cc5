package listeners

import (
	"fmt"
	"strconv"
	"strings"
)

// parseAddress parses the first argument of a listen directive: a port or a range of ports, an
// address, or both.
func parseAddress(text string) (host string, first, last int, ok bool) {
	const http = 80
	if first, last, ok = parsePorts(text); ok {
		return "0.0.0.0", first, last, true
	}
	host, ports := text, ""
	// The last colon separates the port, unless it is within an IPv6 address.
	if at := strings.LastIndexByte(text, ':'); at > strings.LastIndexByte(text, ']') {
		host, ports = text[:at], text[at+1:]
	}
	if host == "*" {
		host = "0.0.0.0"
	}
	if ports == "" {
		return host, http, http, host != ""
	}
	first, last, ok = parsePorts(ports)
	return host, first, last, ok
}

func parsePorts(text string) (first, last int, ok bool) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, errFirst := strconv.Atoi(from)
	last, errLast := strconv.Atoi(to)
	ok = errFirst == nil && errLast == nil && first > 0 && first <= last && last <= 65535
	return first, last, ok
}

// String returns the address as in a listen directive.
func (l Listener) String() string {
	if l.First == l.Last {
		return fmt.Sprintf("%s:%d", l.Host, l.First)
	}
	return fmt.Sprintf("%s:%d-%d", l.Host, l.First, l.Last)
}
