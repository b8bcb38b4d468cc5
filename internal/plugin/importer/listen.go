package importer

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// address is the first argument of a listen directive.
type address struct {
	// host is as written; "" if there is only a port.
	host        string
	first, last int
	unix        bool
}

// parseAddress parses the first argument of a listen directive.
func parseAddress(text string) (address, bool) {
	if strings.HasPrefix(text, "unix:") {
		return address{host: text, unix: true}, true
	}
	if first, last, ok := parsePorts(text); ok {
		return address{first: first, last: last}, true
	}
	host, ports := text, "80"
	// The last colon separates the port, unless it is within an IPv6 address.
	if at := strings.LastIndexByte(text, ':'); at > strings.LastIndexByte(text, ']') {
		host, ports = text[:at], text[at+1:]
	}
	first, last, ok := parsePorts(ports)
	return address{host: host, first: first, last: last}, ok && host != "" && !strings.Contains(host, "$")
}

func parsePorts(text string) (first, last int, ok bool) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, errFirst := strconv.Atoi(from)
	last, errLast := strconv.Atoi(to)
	return first, last, errFirst == nil && errLast == nil && first > 0 && first <= last && last <= 65535
}

// everywhere reports whether nginx listens on all addresses of a family.
func (a address) everywhere() bool {
	return slices.Contains([]string{"", "*", "0.0.0.0", "[::]", "[::0]"}, a.host)
}

// isLoopback reports whether an address, or localhost, is only reachable from within the pod.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.IsLoopback()
}

// anywhere returns the address with the same ports on all addresses of its family.
func (a address) anywhere() address {
	if strings.HasPrefix(a.host, "[") {
		return address{host: "[::]", first: a.first, last: a.last}
	}
	return address{first: a.first, last: a.last}
}

// String returns the address as in a listen directive.
func (a address) String() string {
	ports := strconv.Itoa(a.first)
	if a.last != a.first {
		ports += "-" + strconv.Itoa(a.last)
	}
	switch {
	case a.unix:
		return a.host
	case a.host == "":
		return ports
	}
	return a.host + ":" + ports
}

// key returns the same text for addresses that are the same to nginx.
func (a address) key() string {
	if a.host == "*" || a.host == "0.0.0.0" {
		a.host = ""
	}
	return a.String()
}
