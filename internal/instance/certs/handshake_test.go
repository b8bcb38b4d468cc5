package certs

import (
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instance/syntax"
)

func TestPerHandshake(t *testing.T) {
	tests := map[string]struct {
		text string
		line int
	}{
		"files":               {"http { server { ssl_certificate /tls/a/tls.crt; ssl_certificate_key /tls/a/tls.key; } }", 0},
		"a variable name":     {"http {\nserver {\nssl_certificate /tls/$n/tls.crt;\nssl_certificate_key /tls/$n/tls.key;\n} }", 4},
		"certificate only":    {"http { server {\nssl_certificate /tls/$n/tls.crt; ssl_certificate_key /tls/a/tls.key; } }", 2},
		"by a map":            {"http {\nmap $n $k {\nx /tls/a/tls.key;\n}\nserver { ssl_certificate_key $k; } }", 3},
		"a map of no key":     {"http {\nmap $n $k {\nx /tls/a/tls.key;\n}\nserver { ssl_certificate_key /tls/a/tls.key; } }", 0},
		"a key of the user's": {"http { server { ssl_certificate /keys/$n.crt; ssl_certificate_key /keys/$n.key; } }", 0},
		"beside one":          {"http { server { ssl_certificate /keys/$n.crt; ssl_certificate_key /keys/$n.key; } server { ssl_certificate /tls/a/tls.crt; ssl_certificate_key /tls/a/tls.key; } }", 0},
		"of an upstream":      {"http { location / {\nproxy_ssl_certificate_key /tls/$n/tls.key; } }", 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tree := syntax.NewTree("/", map[string]string{"/main": tt.text})
			found := PerHandshake(tree, "/main", "/tls", func(file string) string { return strings.TrimPrefix(file, "/") })
			switch {
			case tt.line == 0 && len(found) > 0, tt.line > 0 && len(found) != 1:
				t.Errorf("problems %+v", found)
			case tt.line > 0 && (found[0].Line != tt.line || found[0].File != "main"):
				t.Errorf("problem %+v, want line %d", found[0], tt.line)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	_, key := issue(t)
	certificate, _ := issue(t)
	_, private := split(map[string]string{
		"tls.crt": certificate, "ca.crt": certificate, "users": "a:b", "dhparam.pem": "-----BEGIN DH PARAMETERS-----",
		"tls.key": "anything", "combined.pem": certificate + key, "key.der": "", "keystore.p12": "", "client": key,
	})
	for _, name := range []string{"tls.key", "combined.pem", "key.der", "keystore.p12", "client"} {
		if _, ok := private[name]; !ok {
			t.Errorf("%s is public", name)
		}
		delete(private, name)
	}
	if len(private) > 0 {
		t.Errorf("private: %v", private)
	}
}
