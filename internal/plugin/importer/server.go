package importer

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instance/syntax"
)

// metricsPort belongs to the instance manager.
const metricsPort = 9113

// server is a server block.
type server struct {
	block   visit
	listens []visit
	// sslOn is the obsolete directive `ssl on`.
	sslOn *visit
}

// serverRules collect the servers and what they listen on.
var serverRules = map[string]rule{
	"server": func(c *conf, v visit) (Outcome, string) {
		if v.Opens && (v.in("http") || v.in("stream") || v.in("mail")) && c.serverOf[v.Directive] == nil {
			s := &server{block: v}
			c.servers = append(c.servers, s)
			c.serverOf[v.Directive] = s
		}
		if !v.Opens && v.block() != nil && v.block().Name == "upstream" {
			return backendRule(c, v)
		}
		return Carried, ""
	},
	"listen": func(c *conf, v visit) (Outcome, string) {
		if s := c.serverOf[v.block()]; s != nil && len(v.Args) > 0 {
			s.listens = append(s.listens, v)
		}
		return Carried, ""
	},
	"ssl": func(c *conf, v visit) (Outcome, string) {
		switch s := c.serverOf[v.block()]; {
		case v.arg(0) == "off":
			v.replace("")
			return NotCarried, "nginx 1.25.1 removed the directive; a server without ssl in its listen uses none"
		case s == nil:
			return NotCarried, "nginx 1.25.1 removed the directive: add ssl to each listen"
		default:
			s.sslOn = &v
			v.replace("")
			return Changed, "nginx 1.25.1 removed the directive: listen … ssl"
		}
	},
}

// sockets are the addresses on which servers listen, with the first server of each.
type sockets struct {
	owner map[string]*syntax.Directive
	// defaults are those with a default_server, and merged are those that were several addresses.
	defaults, merged, configured map[string]bool
}

func (c *conf) finishServers() {
	all := &sockets{map[string]*syntax.Directive{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, s := range c.servers {
		for _, v := range s.listens {
			if a, ok := parseAddress(v.arg(0)); ok && !a.unix && !a.everywhere() && !isLoopback(a.host) {
				all.merged[a.anywhere().key()] = true
			}
		}
	}
	for _, s := range c.servers {
		c.finishServer(s, all)
	}
	if len(c.ports) == 0 {
		c.review.step("No server listens at an address that a Service can reach: add a listen directive, and its port to spec.ports.")
	}
}

func (c *conf) finishServer(s *server, all *sockets) {
	if len(s.listens) == 0 && s.block.top() == "http" {
		s.block.file.replace(syntax.Span{Start: s.block.End, End: s.block.End}, " listen 80;")
		c.note(s.block, Changed, "nginx of a user other than root would listen on port 8000: listen 80")
		c.addPort(80, corev1.ProtocolTCP, "http")
	}
	own := map[string]bool{}
	for _, v := range s.listens {
		c.finishListen(s, v, own, all)
	}
}

// finishListen rewrites a listen directive for addresses of pods.
func (c *conf) finishListen(s *server, v visit, own map[string]bool, all *sockets) {
	a, ok := parseAddress(v.arg(0))
	if !ok || a.unix {
		if a.unix && !creates(strings.TrimPrefix(a.host, "unix:")) {
			c.note(v, Carried, "nginx cannot create a socket there: use a path in /run itself, here and where it is used")
		}
		return
	}
	moved := a
	if !a.everywhere() && !isLoopback(a.host) {
		moved = a.anywhere()
	}
	if own[moved.key()] {
		v.replace("")
		c.note(v, Changed, "removed: the server already listens on "+moved.String())
		return
	}
	own[moved.key()] = true
	args := listenOptions(s, v, moved, all)
	c.exposePorts(s, v, moved)
	if moved == a && slices.Equal(args, v.Args[1:]) {
		return
	}
	words := []string{"listen", quoted(moved.String())}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	statement := strings.Join(words, " ")
	v.replace(statement + ";")
	c.note(v, Changed, changeOfListen(s, v, a == moved)+": "+statement)
}

// listenOptions returns the options of a listen directive that nginx accepts at the address.
func listenOptions(s *server, v visit, a address, all *sockets) []string {
	var args []string
	key := a.key()
	for _, arg := range v.Args[1:] {
		if all.accepts(key, arg) {
			args = append(args, arg)
		}
	}
	if s.sslOn != nil && !slices.Contains(args, "ssl") {
		args = append(args, "ssl")
	}
	all.configured[key] = true
	return args
}

// accepts reports whether nginx accepts one more option for an address, and remembers a default server.
func (s *sockets) accepts(key, option string) bool {
	name, _, _ := strings.Cut(option, "=")
	switch option {
	case "reuseport", "spdy":
		return false
	case "default_server", "default":
		again := s.merged[key] && s.defaults[key]
		s.defaults[key] = true
		return !again
	}
	return !slices.Contains(socketOptions, name) || !s.merged[key] || !s.configured[key]
}

// socketOptions are options that nginx accepts in one listen directive of an address only.
var socketOptions = []string{"setfib", "fastopen", "backlog", "rcvbuf", "sndbuf", "accept_filter", "deferred", "bind", "ipv6only", "so_keepalive", "multipath"}

// changeOfListen says why a listen directive changes.
func changeOfListen(s *server, v visit, sameAddress bool) string {
	switch {
	case !sameAddress:
		return "a pod does not have the address, so servers are chosen by their names only"
	case slices.Contains(v.Args, "reuseport"):
		return "nginx loses connections with reuseport when the number of workers changes"
	case s.sslOn != nil:
		return "it replaces ssl on"
	}
	return "nginx accepts some options once for an address, or no longer"
}

// exposePorts adds the ports of a listen directive to spec.ports.
func (c *conf) exposePorts(s *server, v visit, a address) {
	if isLoopback(a.host) {
		return
	}
	if a.first <= metricsPort && metricsPort <= a.last {
		c.note(v, NotCarried, "port 9113 belongs to the instance manager, and the operator refuses it: listen on another port")
		c.review.step("Let the server of %s:%d listen on another port than 9113, which belongs to the instance manager.", shown(v.file.path), v.Line)
		return
	}
	kind, protocol := "http", corev1.ProtocolTCP
	switch {
	case slices.Contains(v.Args, "quic"):
		kind, protocol = "quic", corev1.ProtocolUDP
	case slices.Contains(v.Args, "udp"):
		kind, protocol = "udp", corev1.ProtocolUDP
	case s.block.top() == "stream":
		kind = "tcp"
	case s.block.top() == "mail":
		kind = "mail"
	case slices.Contains(v.Args, "ssl") || s.sslOn != nil:
		kind = "https"
	}
	for port := a.first; port <= a.last; port++ {
		if !c.addPort(port, protocol, kind) {
			c.note(v, NotCarried, fmt.Sprintf("spec.ports has at most %d ports: the Service does not offer port %d and those after it", maxPorts, port))
			return
		}
	}
}

const maxPorts = 32

// addPort adds a port of a kind once. It returns false if there are too many.
func (c *conf) addPort(number int, protocol corev1.Protocol, kind string) bool {
	same := func(p v1alpha2.Port) bool { return int(p.Port) == number && p.Protocol == protocol }
	if slices.ContainsFunc(c.ports, same) {
		return true
	}
	if len(c.ports) == maxPorts {
		return false
	}
	name := kind
	if slices.ContainsFunc(c.ports, func(p v1alpha2.Port) bool { return p.Name == name }) || kind == "tcp" || kind == "udp" || kind == "mail" {
		name = fmt.Sprintf("%s-%d", kind, number)
	}
	c.ports = append(c.ports, v1alpha2.Port{Name: name, Port: int32(number), Protocol: protocol}) //nolint:gosec // A port fits.
	return true
}
