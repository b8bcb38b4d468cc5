package importset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/nginx-operator/internal/instance/syntax"
)

const site = `events {}
http {
    server {
        listen 192.0.2.7:8443 ssl proxy_protocol;
        listen [::]:80;
        listen 443 quic;
        listen unix:/run/a.sock;
        server_name shop.example.com *.example.org .example.net ~^a\d$ _ "";
        location = /exact { return 200; }
        location ^~ /static/ { location ~ \.css$ { return 200; } }
        location @named { return 404; }
        rewrite ^/old/(.*)$ /new/$1;
    }
    server { location / { return 200; } }
}
stream { server { listen 53; } }
`

func servers() []*Server {
	return Servers(syntax.NewTree("/etc/nginx", map[string]string{"/etc/nginx/nginx.conf": site}), "/etc/nginx/nginx.conf")
}

func TestServers(t *testing.T) {
	want := []*Server{
		{
			Listens: []Listen{{Address: "192.0.2.7", Port: 8443, TLS: true, Proxied: true}},
			Hosts:   []string{"shop.example.com", "any.example.org", "example.net", "any.example.net", "a0"},
			Paths:   []string{"/exact", "/exactx", "/static/", "/static/deeper/page.html", "/.css", "/old/x"},
		},
		{Paths: []string{"/", "/deeper/page.html"}},
	}
	if diff := cmp.Diff(want, servers()); diff != "" {
		t.Errorf("Servers() (-want +got):\n%s", diff)
	}
}

func TestRequests(t *testing.T) {
	requests := Requests(servers())
	seen := map[Request]bool{}
	for _, r := range requests {
		if seen[r] {
			t.Errorf("%s is there twice", r)
		}
		seen[r] = true
	}
	first := Listen{Address: "192.0.2.7", Port: 8443, TLS: true, Proxied: true}
	for _, want := range []Request{
		{Listen: first, Method: "GET", Host: "any.example.org", Path: "/exact"},
		{Listen: first, Method: "POST", Host: "shop.example.com", Path: "/static/"},
		{Listen: first, Method: "GET", Host: "unknown.example", Path: "/"},
		{Listen: Listen{Port: 80, Implicit: true}, Method: "GET", Host: "unknown.example", Path: "/", Header: "Range: bytes=0-3"},
	} {
		if !seen[want] {
			t.Errorf("there is no %s", want)
		}
	}
	if len(requests) > maxRequests {
		t.Errorf("%d requests", len(requests))
	}
}
