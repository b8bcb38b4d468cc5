package listeners

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/golden"
)

func TestCheck(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.0.0.7"), netip.MustParseAddr("fd00::7")
	listener := func(host string, port int) Listener {
		return Listener{Host: host, First: port, Last: port, Protocol: "TCP", File: "site.conf", Line: 1}
	}
	both := listener("[::]", 80)
	both.Both = true
	tests := map[string]struct {
		found     []Listener
		addresses []netip.Addr
		families  []string
		// problem is a part of the first problem; empty: there is none.
		problem string
	}{
		"all addresses":                 {[]Listener{listener("0.0.0.0", 80)}, []netip.Addr{v4}, nil, ""},
		"IPv6 only, in an IPv4 pod":     {[]Listener{listener("[::]", 80)}, []netip.Addr{v4}, nil, "port http (80/TCP) is declared, but no server listens on it at an IPv4 address of the pod (there are servers on [::]:80/TCP)"},
		"IPv6 only, in an IPv6 pod":     {[]Listener{listener("[::]", 80)}, []netip.Addr{v6}, nil, ""},
		"IPv4 only, in an IPv6 pod":     {[]Listener{listener("0.0.0.0", 80)}, []netip.Addr{v6}, nil, "at an IPv6 address"},
		"one family of two":             {[]Listener{listener("0.0.0.0", 80)}, []netip.Addr{v6, v4}, nil, ""},
		"IPv6 with IPv4":                {[]Listener{both}, []netip.Addr{v4}, nil, ""},
		"the pod's own address":         {[]Listener{listener("10.0.0.7", 80)}, []netip.Addr{v4}, nil, ""},
		"a foreign address":             {[]Listener{listener("10.0.0.8", 80)}, []netip.Addr{v4}, nil, "no server listens"},
		"a name":                        {[]Listener{listener("here", 80)}, []netip.Addr{v4}, nil, ""},
		"loopback":                      {[]Listener{listener("127.0.0.1", 80)}, []netip.Addr{v4}, nil, "no server listens"},
		"loopback, addresses unknown":   {[]Listener{listener("127.0.0.1", 80)}, nil, nil, "no server listens"},
		"all addresses, none is known":  {[]Listener{listener("[::]", 80)}, nil, nil, ""},
		"another port":                  {[]Listener{listener("0.0.0.0", 81)}, []netip.Addr{v4}, nil, "(there are servers on 0.0.0.0:81/TCP)"},
		"both families, one is missing": {[]Listener{listener("0.0.0.0", 80)}, []netip.Addr{v6, v4}, []string{"IPv4", "IPv6"}, "at an IPv6 address of the pod (there are servers on 0.0.0.0:80/TCP): add listen [::]:80 or remove"},
		"both families":                 {[]Listener{listener("0.0.0.0", 80), listener("[::]", 80)}, []netip.Addr{v6, v4}, []string{"IPv4", "IPv6"}, ""},
		"both families, by one socket":  {[]Listener{both}, []netip.Addr{v6, v4}, []string{"IPv4", "IPv6"}, ""},
		"IPv6, in a pod of both":        {[]Listener{listener("0.0.0.0", 80)}, []netip.Addr{v6, v4}, []string{"IPv6"}, "at an IPv6 address"},
		"IPv4, in a pod of both":        {[]Listener{listener("[::]", 80)}, []netip.Addr{v6, v4}, nil, "at an IPv4 address"},
		"a family that no pod has":      {[]Listener{listener("0.0.0.0", 80)}, []netip.Addr{v4}, []string{"IPv4", "IPv6"}, ""},
		"the port of the instance":      {[]Listener{listener("0.0.0.0", 80), listener("0.0.0.0", 9113)}, []netip.Addr{v4}, nil, "port 9113"},
	}
	var messages golden.Messages
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			problems := Check([]instanceapi.DeclaredPort{{Name: "http", Port: 80, Protocol: "TCP"}}, tt.found, tt.addresses, tt.families, 9113)
			for _, p := range problems {
				messages.Add("configuration refused by an instance", p.Message)
			}
			switch {
			case tt.problem == "" && len(problems) > 0:
				t.Errorf("problems: %v", problems)
			case tt.problem != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, tt.problem)):
				t.Errorf("problems = %v, want one with %q", problems, tt.problem)
			}
		})
	}
	messages.Compare(t, "listeners.txt")
}

// TestNamesByCertificate: a certificate has the names of all servers that use it over TLS.
func TestNamesByCertificate(t *testing.T) {
	found := []Listener{
		{Certificates: []string{"shop", "all"}, Names: []string{"shop.example.com", "~^x"}},
		{Certificates: []string{"all"}, Names: []string{"shop.example.com", "blog.example.com"}},
		{Names: []string{"plain.example.com"}},
		{Certificates: []string{"unnamed"}},
	}
	want := map[string][]string{"shop": {"shop.example.com", "~^x"}, "all": {"shop.example.com", "~^x", "blog.example.com"}}
	if got := NamesByCertificate(found); !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}
