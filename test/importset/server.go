package importset

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// Server is a server block, and what requests to it can ask for.
type Server struct {
	Listens []Listen
	// Hosts and Paths are samples of the names and of the locations.
	Hosts, Paths []string
}

// Listen is a listen directive that takes TCP connections.
type Listen struct {
	// Address is "" for all addresses.
	Address string
	Port    int
	// TLS is set if the listen directive says ssl, and Proxied if it expects the PROXY protocol.
	TLS, Proxied bool
	// Implicit is set for a server without a listen directive. nginx then uses port 80 as root, which the import keeps,
	// and 8000 as another user.
	Implicit bool
}

// Servers returns the server blocks of the http context, in the order of the configuration.
func Servers(tree syntax.Tree, main string) []*Server {
	var order []*Server
	known := map[*syntax.Directive]*Server{}
	tree.Walk(main, func(v syntax.Visit) {
		if len(v.Context) < 2 || v.Context[0].Name != "http" || v.Context[1].Name != "server" {
			if v.Name == "server" && v.Opens && v.In("http") {
				known[v.Directive] = &Server{}
				order = append(order, known[v.Directive])
			}
			return
		}
		if s := known[v.Context[1]]; s != nil {
			s.add(v)
		}
	})
	return order
}

// add adds what a directive of the server says.
func (s *Server) add(v syntax.Visit) {
	switch {
	case v.Name == "listen" && len(v.Args) > 0 && len(v.Context) == 2:
		if l, ok := parseListen(v.Args); ok {
			s.Listens = append(s.Listens, l)
		}
	case v.Name == "server_name":
		for _, name := range v.Args {
			s.addHosts(name)
		}
	case v.Name == "location" && v.Opens && len(v.Args) > 0:
		s.addPaths(locationSamples(v.Args)...)
	case v.Name == "rewrite" && len(v.Args) > 1:
		s.addPaths(Samples(v.Args[0])...)
	}
}

// parseListen parses the arguments of a listen directive.
func parseListen(args []string) (Listen, bool) {
	options := args[1:]
	if strings.HasPrefix(args[0], "unix:") || slices.Contains(options, "quic") || slices.Contains(options, "udp") {
		return Listen{}, false
	}
	l := Listen{TLS: slices.Contains(options, "ssl"), Proxied: slices.Contains(options, "proxy_protocol")}
	if port, err := strconv.Atoi(args[0]); err == nil {
		l.Port = port
		return l, true
	}
	host, port, err := net.SplitHostPort(args[0])
	if err != nil {
		host, port = strings.Trim(args[0], "[]"), "80"
	}
	l.Port, err = strconv.Atoi(port)
	if ip := net.ParseIP(host); host == "*" || ip != nil && ip.IsUnspecified() {
		host = ""
	}
	l.Address = host
	// The harness has no IPv6.
	return l, err == nil && !strings.Contains(host, ":") && !strings.HasPrefix(args[0], "[")
}

func (s *Server) addHosts(name string) {
	switch {
	case strings.HasPrefix(name, "~"):
		s.Hosts = append(s.Hosts, Samples(name[1:])...)
	case strings.HasPrefix(name, "*."):
		s.Hosts = append(s.Hosts, "any"+name[1:])
	case strings.HasSuffix(name, ".*"):
		s.Hosts = append(s.Hosts, name[:len(name)-1]+"example")
	case strings.HasPrefix(name, "."):
		s.Hosts = append(s.Hosts, name[1:], "any"+name)
	case !strings.ContainsAny(name, "$_") && name != "":
		s.Hosts = append(s.Hosts, name)
	}
}

// locationSamples returns paths for the arguments of a location.
func locationSamples(args []string) []string {
	if len(args) == 1 && strings.HasPrefix(args[0], "@") {
		return nil
	}
	target := args[len(args)-1]
	switch operator := args[0]; {
	case len(args) == 2 && (operator == "~" || operator == "~*"), len(args) == 1 && strings.HasPrefix(operator, "~"):
		return Samples(strings.TrimLeft(target, "~*"))
	case len(args) == 2 && operator == "=":
		return []string{target, target + "x"}
	}
	return []string{target, strings.TrimSuffix(target, "/") + "/deeper/page.html"}
}

// addPaths adds paths, each once. nginx would answer a path with other bytes before it looks for a location.
func (s *Server) addPaths(paths ...string) {
	for _, p := range paths {
		if !strings.HasPrefix(p, "/") {
			p = "/" + p
		}
		if !slices.Contains(s.Paths, p) && !strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			s.Paths = append(s.Paths, p)
		}
	}
}
