package instance

import (
	"log/slog"
	"net/netip"
	"os"
	"strings"
)

// nameServers returns the IP addresses of the pod's name servers; none if they cannot be read. nginx then says which
// directive it lacks, if it needs them.
func nameServers() []string {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		slog.Warn("nginx cannot ask for the addresses of upstream servers again, unless its configuration has a resolver", "error", err)
		return nil
	}
	return parseNameServers(string(text))
}

// parseNameServers returns the addresses in a resolv.conf.
func parseNameServers(text string) (found []string) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		// An address with a zone cannot be in nginx's configuration.
		if address, err := netip.ParseAddr(fields[1]); err == nil && address.Zone() == "" {
			found = append(found, address.String())
		}
	}
	return found
}
