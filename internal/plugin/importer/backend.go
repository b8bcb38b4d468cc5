package importer

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// backend is a directive that names where nginx passes requests to.
type backend struct {
	visit visit
	// host is a name or an address with its port, or a unix socket.
	host string
}

// backendRules collect the backends, and the names of upstreams.
var backendRules = map[string]rule{
	"proxy_pass": backendRule, "grpc_pass": backendRule, "fastcgi_pass": backendRule, "uwsgi_pass": backendRule, "scgi_pass": backendRule,
	"memcached_pass": backendRule, "auth_http": backendRule,
	"upstream": func(c *conf, v visit) (Outcome, string) {
		c.upstreams[v.arg(0)] = true
		return Carried, ""
	},
}

func backendRule(c *conf, v visit) (Outcome, string) {
	host := v.arg(0)
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	if !strings.HasPrefix(host, "unix:") {
		host, _, _ = strings.Cut(host, "/")
	}
	c.backends = append(c.backends, backend{v, host})
	return Carried, ""
}

// finishBackends names the backends that the pods do not have.
func (c *conf) finishBackends() {
	names := map[string]bool{}
	for _, b := range c.backends {
		host, port, _ := strings.Cut(b.host, ":")
		if inside, ok := strings.CutPrefix(b.host, "["); ok {
			host, port, _ = strings.Cut(inside, "]:")
		}
		switch {
		case b.host == "" || strings.Contains(b.host, "$") || c.upstreams[b.host]:
		case host == "unix":
			if !c.ownSocket(b.host) {
				c.noteBackend(b)
			}
		case isLoopback(host):
			if !c.ownPort(port) {
				c.noteBackend(b)
			}
		case !isAddress(host):
			names[host] = true
		}
	}
	if len(names) > 0 {
		c.review.step("Check that these backends resolve in the cluster, or nginx refuses the configuration: %s.", strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func (c *conf) noteBackend(b backend) {
	c.note(b.visit, Carried, "nothing listens there in the pods")
	c.review.step("Replace %s (%s:%d) by the name of a Service, or run it beside nginx with podTemplate.containers.", b.host, shown(b.visit.file.path), b.visit.Line)
}

// ownPort reports whether a server of the configuration listens on a port.
func (c *conf) ownPort(port string) bool {
	if port == "" {
		port = "80"
	}
	first, _, ok := parsePorts(port)
	return ok && c.listensOn(func(a address) bool { return !a.unix && a.first <= first && first <= a.last })
}

// ownSocket reports whether a server of the configuration listens on a unix socket.
func (c *conf) ownSocket(text string) bool {
	return c.listensOn(func(a address) bool { return a.unix && (text == a.host || strings.HasPrefix(text, a.host+":")) })
}

func (c *conf) listensOn(matches func(address) bool) bool {
	return slices.ContainsFunc(c.servers, func(s *server) bool {
		return slices.ContainsFunc(s.listens, func(v visit) bool {
			a, ok := parseAddress(v.arg(0))
			return ok && matches(a)
		})
	})
}
