package listeners

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
)

// Check compares the declared ports with the listeners. It reports a port that has no listener at
// an address of the pod in each family of the Service, and a listener at the port of the instance
// itself.
func Check(declared []instanceapi.DeclaredPort, found []Listener, addresses []netip.Addr, families []string, ownPort int) []instanceapi.Problem {
	var problems []instanceapi.Problem
	for _, port := range declared {
		for _, reached := range byFamily(addresses, families) {
			if slices.ContainsFunc(found, func(l Listener) bool { return l.Covers(int(port.Port), port.Protocol, reached) }) {
				continue
			}
			problems = append(problems, instanceapi.Problem{
				Message: fmt.Sprintf("port %s (%d/%s) is declared, but no server listens on it%s%s: add %s or remove the port from spec.ports", port.Name, port.Port, port.Protocol, at(reached), instead(found), directive(port.Port, reached)),
			})
		}
	}
	for _, l := range found {
		if l.Protocol == "TCP" && l.First <= ownPort && ownPort <= l.Last {
			problems = append(problems, instanceapi.Problem{
				File: l.File, Line: l.Line,
				Message: fmt.Sprintf("port %d is reserved for the instance manager: listen on another port", ownPort),
			})
		}
	}
	return problems
}

// byFamily returns the pod's addresses in each of the Service's families that it has; without families, those of IPv4.
// If there are none, all of them are one group.
func byFamily(addresses []netip.Addr, families []string) [][]netip.Addr {
	if len(families) == 0 {
		families = []string{ipv4}
	}
	var groups [][]netip.Addr
	for _, family := range families {
		var group []netip.Addr
		for _, a := range addresses {
			if a.Is4() == (family == ipv4) {
				group = append(group, a)
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	if len(groups) == 0 {
		return [][]netip.Addr{addresses}
	}
	return groups
}

// ipv4 is the name of the family in the API of Kubernetes.
const ipv4 = "IPv4"

// directive says what to add for a port of the addresses. Most configurations lack only the one for IPv6.
func directive(port int32, addresses []netip.Addr) string {
	if len(addresses) > 0 && !slices.ContainsFunc(addresses, netip.Addr.Is4) {
		return fmt.Sprintf("listen [::]:%d", port)
	}
	return "a listen directive"
}

// at names the pod's address family, if it has only one.
func at(addresses []netip.Addr) string {
	switch {
	case len(addresses) == 0:
		return ""
	case !slices.ContainsFunc(addresses, netip.Addr.Is6):
		return " at an IPv4 address of the pod"
	case !slices.ContainsFunc(addresses, netip.Addr.Is4):
		return " at an IPv6 address of the pod"
	}
	return ""
}

// instead names the addresses where the servers listen: usually, one of them is the mistake.
func instead(found []Listener) string {
	const most = 5
	var addresses []string
	for _, l := range found {
		address := l.String() + "/" + l.Protocol
		if !slices.Contains(addresses, address) && len(addresses) < most {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) == 0 {
		return ""
	}
	return " (there are servers on " + strings.Join(addresses, ", ") + ")"
}

// ByCertificate returns the addresses where each certificate is used, sorted.
func ByCertificate(found []Listener) map[string][]string {
	used := map[string][]string{}
	for _, l := range found {
		for _, name := range l.Certificates {
			if !slices.Contains(used[name], l.String()) {
				used[name] = append(used[name], l.String())
			}
		}
	}
	for _, addresses := range used {
		slices.Sort(addresses)
	}
	return used
}

// NamesByCertificate returns the names of the servers that use each certificate.
func NamesByCertificate(found []Listener) map[string][]string {
	names := map[string][]string{}
	for _, l := range found {
		for _, certificate := range l.Certificates {
			for _, name := range l.Names {
				if !slices.Contains(names[certificate], name) {
					names[certificate] = append(names[certificate], name)
				}
			}
		}
	}
	return names
}
