// Package listeners determines from a configuration, in the format of `nginx -T`, on which
// addresses nginx will listen, and with which certificates. It has no side effects.
package listeners

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"example.com/nginx-operator/internal/instance/syntax"
)

// Listener is an address of a listen directive.
type Listener struct {
	// Host is the address as written, and "0.0.0.0" for all addresses.
	Host string
	// Both reports whether [::] also accepts IPv4 (ipv6only=off).
	Both bool
	// First and Last are the range of ports.
	First, Last int
	// Protocol is TCP or UDP.
	Protocol string
	// Certificates are the names of the certificates that the server uses at this address.
	Certificates []string
	// Names are the names of the server.
	Names []string
	// File and Line are the position of the directive, or of the server that has none.
	File string
	Line int
}

// Loopback reports whether the listener can only be reached from within the pod.
func (l Listener) Loopback() bool {
	return strings.HasPrefix(l.Host, "127.") || l.Host == "[::1]" || l.Host == "localhost"
}

// Covers reports whether the listener accepts connections to a port of a pod with the addresses.
func (l Listener) Covers(port int, protocol string, addresses []netip.Addr) bool {
	return l.Protocol == protocol && l.First <= port && port <= l.Last && !l.Loopback() &&
		(len(addresses) == 0 || slices.ContainsFunc(addresses, l.takes))
}

// takes reports whether the listener accepts connections to an address. A host name is assumed to
// match.
func (l Listener) takes(address netip.Addr) bool {
	switch l.Host {
	case "0.0.0.0":
		return address.Is4()
	case "[::]":
		return address.Is6() || l.Both
	}
	host, err := netip.ParseAddr(strings.Trim(l.Host, "[]"))
	return err != nil || host == address
}

// Reader finds listeners.
type Reader struct {
	// TLSDir contains a folder for each certificate.
	TLSDir string
	// DefaultPort is the port of a server without a listen directive: 80 for root, and 8000 for
	// other users.
	DefaultPort int
}

// All returns the listeners of the files, in the order of the configuration, and the paths of the
// unix sockets.
func (r Reader) All(tree syntax.Tree, main string) (found []Listener, sockets []string) {
	servers, shared := r.servers(tree, main)
	for _, s := range servers {
		certificates := shared
		if s.own {
			certificates = s.certificates
		}
		listeners, unix := s.listeners(r.DefaultPort)
		for _, l := range listeners {
			if l.tls || s.ssl {
				l.Certificates, l.Names = certificates, s.names
			}
			found = append(found, l.Listener)
		}
		sockets = append(sockets, unix...)
	}
	return found, sockets
}

// servers finds the server blocks and the certificates that they inherit.
func (r Reader) servers(tree syntax.Tree, main string) (servers []*server, shared []string) {
	byBlock := map[*syntax.Directive]*server{}
	tree.Walk(main, func(v syntax.Visit) {
		switch {
		case v.Name == "server" && v.Opens && (v.In("http") || v.In("stream") || v.In("mail")):
			s := &server{visit: v}
			servers = append(servers, s)
			byBlock[v.Directive] = s
		case v.Name == "ssl_certificate" && len(v.Context) == 1:
			shared = r.certificate(shared, v)
		case byBlock[v.Block()] != nil:
			r.inServer(byBlock[v.Block()], v)
		}
	})
	return servers, shared
}

// server is a server block.
type server struct {
	visit        syntax.Visit
	listens      []syntax.Visit
	certificates []string
	names        []string
	// own is set if the server does not inherit certificates.
	own bool
	// ssl is set by the obsolete directive `ssl on`.
	ssl bool
}

func (r Reader) inServer(s *server, v syntax.Visit) {
	switch v.Name {
	case "listen":
		s.listens = append(s.listens, v)
	case "server_name":
		s.names = append(s.names, v.Args...)
	case "ssl_certificate":
		s.own = true
		s.certificates = r.certificate(s.certificates, v)
	case "ssl":
		s.ssl = v.Is("ssl", "on")
	}
}

func (r Reader) certificate(names []string, v syntax.Visit) []string {
	if len(v.Args) != 1 {
		return names
	}
	file := path.Clean(v.Args[0])
	if !path.IsAbs(file) {
		// nginx finds it in the folder of its configuration, which links to the folder of certificates.
		file = path.Join(path.Dir(r.TLSDir), file)
	}
	inside, ok := strings.CutPrefix(file, r.TLSDir+"/")
	name, _, nested := strings.Cut(inside, "/")
	if !ok || !nested || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

type parsed struct {
	Listener
	tls bool
}

func (s *server) listeners(defaultPort int) (found []parsed, unix []string) {
	http := s.visit.TopBlockIs("http")
	if len(s.listens) == 0 && http {
		l := Listener{Host: "0.0.0.0", First: defaultPort, Last: defaultPort, Protocol: "TCP", File: s.visit.File, Line: s.visit.Line}
		return []parsed{{Listener: l}}, nil
	}
	for _, v := range s.listens {
		if len(v.Args) == 0 {
			continue
		}
		if socket, ok := strings.CutPrefix(v.Args[0], "unix:"); ok {
			unix = append(unix, socket)
			continue
		}
		host, first, last, ok := parseAddress(v.Args[0])
		if !ok {
			continue
		}
		l := Listener{Host: host, First: first, Last: last, Protocol: "TCP", File: v.File, Line: v.Line}
		if slices.Contains(v.Args, "udp") || slices.Contains(v.Args, "quic") {
			l.Protocol = "UDP"
		}
		l.Both = slices.Contains(v.Args, "ipv6only=off")
		found = append(found, parsed{Listener: l, tls: slices.Contains(v.Args, "ssl") || slices.Contains(v.Args, "quic")})
	}
	return found, unix
}
