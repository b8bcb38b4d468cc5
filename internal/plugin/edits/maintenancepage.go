package edits

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instance/syntax"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// maintenancePage is what clients get. Retry-After is in seconds.
const maintenancePage = `    location / {
        default_type text/html;
        add_header Retry-After 300 always;
        return 503 "<!doctype html><html lang=en><title>Maintenance</title><h1>Down for maintenance</h1><p>Please try again in a few minutes.</html>\n";
    }
`

// maintenanceConfig returns a configuration that answers 503 on all ports, in the way in which they are served now: with
// the certificate of each server that has its own.
func maintenanceConfig(spec *v1alpha2.NginxOperatorSpec) (string, error) {
	servers := tlsServers(spec)
	var listens, secure string
	for _, p := range podtemplate.Ports(spec) {
		if p.Protocol == corev1.ProtocolUDP {
			return "", fmt.Errorf("port %s is UDP, which has no answer for it", p.Name)
		}
		number := podtemplate.TargetPort(p)
		if !servesTLS(spec, &p, number) {
			listens += listen(spec, number, " default_server")
			continue
		}
		if len(servers) == 0 && len(spec.TLS) == 0 {
			return "", fmt.Errorf("port %s needs a certificate, and spec.tls has none", p.Name)
		}
		listens += listen(spec, number, " default_server ssl")
		secure += listen(spec, number, " ssl")
	}
	if secure == "" {
		return server(listens), nil
	}
	if len(servers) == 0 {
		folder := "/etc/nginx/tls/" + spec.TLS[0].Name
		servers = []tlsServer{{directives: []string{"ssl_certificate " + folder + "/tls.crt;", "ssl_certificate_key " + folder + "/tls.key;"}}}
	}
	first := max(0, slices.IndexFunc(servers, func(s tlsServer) bool { return s.isDefault }))
	blocks := []string{server(listens + servers[first].text())}
	for i, s := range servers {
		if i != first && len(s.names) > 0 {
			blocks = append(blocks, server(secure+"    server_name "+strings.Join(s.names, " ")+";\n"+s.text()))
		}
	}
	return strings.Join(blocks, ""), nil
}

func server(directives string) string { return "server {\n" + directives + maintenancePage + "}\n" }

// listen returns the directives for a port, with the address families and the PROXY protocol of the configuration.
func listen(spec *v1alpha2.NginxOperatorSpec, number int32, parameters string) string {
	if listensWith(spec, number, "proxy_protocol") {
		parameters += " proxy_protocol"
	}
	text := fmt.Sprintf("    listen %d%s;\n", number, parameters)
	if onIPv6(spec) {
		text += fmt.Sprintf("    listen [::]:%d%s;\n", number, parameters)
	}
	return text
}

// tlsServer is a server block that serves TLS.
type tlsServer struct {
	names []string
	// directives are those with its certificates, of its own or of the level above.
	directives []string
	// isDefault reports whether it serves names that no other server has.
	isDefault bool
}

func (s tlsServer) text() string { return "    " + strings.Join(s.directives, "\n    ") + "\n" }

// tlsServers returns the server blocks that serve TLS, in the order in which nginx reads them. Names and files with variables
// are left out: they need more of the configuration than their block.
func tlsServers(spec *v1alpha2.NginxOperatorSpec) []tlsServer {
	var servers []tlsServer
	inherited := certificates(above(spec))
	for _, d := range serverBlocks(spec) {
		s := tlsServer{directives: certificates(d.Block)}
		if len(s.directives) == 0 {
			s.directives = inherited
		}
		secure := false
		for _, inner := range d.Block {
			switch inner.Name {
			case "server_name":
				s.names = append(s.names, inner.Args...)
			case "listen":
				secure = secure || slices.Contains(inner.Args, "ssl")
				s.isDefault = s.isDefault || slices.Contains(inner.Args, "ssl") && slices.Contains(inner.Args, "default_server")
			}
		}
		s.names = slices.DeleteFunc(s.names, func(name string) bool { return !plain(name) })
		if secure && len(s.directives) > 0 {
			servers = append(servers, s)
		}
	}
	return servers
}

// certificates returns the directives of a level by which nginx has certificates, or rejects clients for which it has none.
func certificates(level []*syntax.Directive) []string {
	var texts []string
	for _, d := range level {
		switch d.Name {
		case "ssl_certificate", "ssl_certificate_key", "ssl_reject_handshake":
			if len(d.Args) != 1 || !plain(d.Args[0]) {
				return nil
			}
			texts = append(texts, d.Name+" "+d.Args[0]+";")
		}
	}
	return texts
}

// plain reports whether a word can be written as it is: without quotes, and without variables.
func plain(word string) bool { return word != "" && !strings.ContainsAny(word, " \t\n\"';{}$\\") }

// servesTLS reports whether clients use TLS on a port: as the configuration says, or, if it is in a ConfigMap, as the port is called.
func servesTLS(spec *v1alpha2.NginxOperatorSpec, p *v1alpha2.Port, number int32) bool {
	if spec.Config != nil && spec.Config.ConfigMap != nil {
		return strings.Contains(p.Name, "https") || p.Port == 443
	}
	return listensWith(spec, number, "ssl")
}

// listensWith reports whether a listen directive of a port has a parameter.
func listensWith(spec *v1alpha2.NginxOperatorSpec, number int32, parameter string) bool {
	port := strconv.Itoa(int(number))
	return anyListen(spec, func(args []string) bool {
		return (args[0] == port || strings.HasSuffix(args[0], ":"+port)) && slices.Contains(args[1:], parameter)
	})
}

// onIPv6 reports whether the configuration listens on IPv6.
func onIPv6(spec *v1alpha2.NginxOperatorSpec) bool {
	return anyListen(spec, func(args []string) bool { return strings.HasPrefix(args[0], "[") })
}

func anyListen(spec *v1alpha2.NginxOperatorSpec, matches func(args []string) bool) bool {
	return slices.ContainsFunc(serverBlocks(spec), func(server *syntax.Directive) bool {
		return slices.ContainsFunc(server.Block, func(d *syntax.Directive) bool {
			return d.Name == "listen" && len(d.Args) > 0 && matches(d.Args)
		})
	})
}

// serverBlocks returns the server blocks of the user's files, in the order in which nginx reads them.
func serverBlocks(spec *v1alpha2.NginxOperatorSpec) []*syntax.Directive {
	return slices.DeleteFunc(above(spec), func(d *syntax.Directive) bool { return d.Name != "server" || !d.Opens })
}

// above returns the directives of the level of server blocks: those of the files, and within http and stream.
func above(spec *v1alpha2.NginxOperatorSpec) []*syntax.Directive {
	if spec.Config == nil {
		return nil
	}
	var found []*syntax.Directive
	for _, name := range slices.Sorted(maps.Keys(spec.Config.Files)) {
		for _, d := range syntax.Scan(string(spec.Config.Files[name])) {
			found = append(found, d)
			if d.Name == "http" || d.Name == "stream" {
				found = append(found, d.Block...)
			}
		}
	}
	return found
}
