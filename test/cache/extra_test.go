//go:build instance

package cache

import (
	"net/http"
	"testing"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// TestExtraConfiguration: files of a user are read where their names say, and the cache works as before.
func TestExtraConfiguration(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Edge.Config = &v1alpha1.Config{Files: map[string]v1alpha2.ConfigFile{
			"types.conf":       "map $uri $shop_blocked { default ''; ~/admin 1; }\n",
			"health.server":    "location = /healthz { return 200 'well'; }\nif ($shop_blocked) { return 403; }\n",
			"headers.location": "add_header X-Frame-Options DENY always;\n",
			"readme":           "not nginx",
		}}
		spec.Shards.Config = &v1alpha1.Config{Files: map[string]v1alpha2.ConfigFile{"timeouts.conf": "proxy_read_timeout 1s;\n"}}
	})
	for _, request := range [][]string{nil, nil, {"Cookie", "a=b"}} {
		got := s.get(t, "/a", request...)
		if got.status != http.StatusOK || got.header.Get("X-Frame-Options") != "DENY" || got.header.Get("Cache-Status") == "" {
			t.Errorf("the answer is %d with %v", got.status, got.header)
		}
	}
	if n := len(s.origin.received("/a")); n != 2 {
		t.Errorf("the origin received %d requests", n)
	}
	if got := s.get(t, "/healthz"); got.body != "well" || len(s.origin.received("/healthz")) > 0 {
		t.Errorf("a location of the user answers %d %q", got.status, got.body)
	}
	if got := s.get(t, "/admin"); got.status != http.StatusForbidden {
		t.Errorf("what the user forbids is answered with %d", got.status)
	}
	if got := s.get(t, "/slow?delay=1500ms"); got.status != http.StatusGatewayTimeout {
		t.Errorf("after the time limit of the shards, the answer is %d", got.status)
	}
}
