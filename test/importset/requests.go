package importset

import (
	"fmt"
	"slices"
	"strings"
)

// Request is a request to both nginx.
type Request struct {
	Listen
	Method, Host, Path string
	// Header is "Name: value", or "".
	Header string
}

// String returns the request on one line.
func (r Request) String() string {
	scheme := "http"
	if r.TLS {
		scheme = "https"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s://%s:%d%s %s", r.Method, scheme, r.Host, r.Port, r.Path, r.Header))
}

// maxRequests bounds the requests of a configuration: some have hundreds of servers.
const maxRequests = 400

// unknownHost is the name of no server.
const unknownHost = "unknown.example"

// headers are sent with a request for "/", one at a time.
var headers = []string{
	"Authorization: Basic YWxpY2U6c2VjcmV0", "Origin: https://a.example", "Accept-Encoding: gzip", "User-Agent: Googlebot/2.1",
	"X-Forwarded-Proto: https", "X-Forwarded-For: 203.0.113.9", "Range: bytes=0-3", "Cookie: session=1", "Upgrade: websocket",
}

// common are paths that servers often treat in their own way.
var common = []string{"/", "/index.html", "/index.php?x=1", "/missing", "/a%20b?x=%2F", "/.git/config", "/favicon.ico", "/robots.txt"}

// Requests returns what to ask of the servers: each name and location at each port, and a few methods and headers.
func Requests(servers []*Server) []Request {
	var all []Request
	seen := map[Request]bool{}
	for _, s := range servers {
		for _, l := range s.listens() {
			for _, r := range s.requests(l) {
				if !seen[r] && len(all) < maxRequests {
					seen[r] = true
					all = append(all, r)
				}
			}
		}
	}
	return all
}

// listens returns where the server listens.
func (s *Server) listens() []Listen {
	if len(s.Listens) == 0 {
		return []Listen{{Port: 80, Implicit: true}}
	}
	return s.Listens
}

func (s *Server) requests(l Listen) (all []Request) {
	hosts := append(slices.Clip(s.Hosts), unknownHost)
	for _, host := range hosts {
		for _, path := range append(common[:1:1], s.Paths...) {
			all = append(all, Request{Listen: l, Method: "GET", Host: host, Path: path})
		}
	}
	first := hosts[0]
	for _, path := range common[1:] {
		all = append(all, Request{Listen: l, Method: "GET", Host: first, Path: path})
	}
	for _, path := range append(common[:1:1], s.Paths...) {
		for _, method := range []string{"POST", "HEAD", "OPTIONS"} {
			all = append(all, Request{Listen: l, Method: method, Host: first, Path: path})
		}
	}
	for _, header := range headers {
		all = append(all, Request{Listen: l, Method: "GET", Host: first, Path: "/", Header: header})
	}
	return all
}
