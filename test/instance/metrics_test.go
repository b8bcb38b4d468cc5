//go:build instance

package instance_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

func TestMetrics(t *testing.T) {
	eachNginx(t, func(t *testing.T, image string) {
		files := map[string]string{
			"a.conf": `server { listen 80; server_name shop.example.com; access_log /dev/stdout combined;
				location / { return 200 ok; } location /own/ { access_log /dev/null; return 204; } location /off/ { access_log off; return 200 no; }
				location /up/ { proxy_pass http://127.0.0.1:81; } }`,
			"b.conf": `server { listen 81; server_name backend; location / { return 404; } }`,
		}
		p := newPod(t, files).start(image, http80)
		p.ready()
		for path, times := range map[string]int{"/": 5, "/own/": 3, "/off/": 2, "/up/": 1} {
			for range times {
				_, _, err := p.get(80, path)
				must(t, err)
			}
		}
		p.eventually("the requests are counted", func() error {
			return p.metrics(
				`nginx_http_requests_total{code="2xx",method="GET",server="shop.example.com"} 10`,
				`nginx_http_requests_total{code="4xx",method="GET",server="shop.example.com"} 1`,
				`nginx_http_requests_total{code="4xx",method="GET",server="backend"} 1`,
				`nginx_http_request_duration_seconds_count{server="shop.example.com"} 11`,
				`nginx_http_upstream_response_seconds_count{server="shop.example.com"} 1`,
				`nginx_http_log_malformed_total 0`,
				`nginx_up 1`, `nginx_instance_ready 1`, `nginx_config_generation 1`, `nginx_connections{state="active"}`,
				`nginx_requests_total`, `nginx_workers{state="running"} 2`, `nginx_resident_memory_bytes`, `nginx_cpu_seconds_total`,
			)
		})
		if err := p.metrics(`nginx_cache_`); err == nil {
			t.Error("a pod without a cache has the metrics of one")
		}
	})
}

func TestMetricsWithoutRequests(t *testing.T) {
	p := newPod(t, site("one")).start("forky", http80, "--request-metrics=false")
	p.ready()
	p.body(80, "one")
	must(t, p.metrics(`nginx_up 1`))
	if err := p.metrics(`nginx_http_`); err == nil {
		t.Error("requests are measured")
	}
	if code, text, err := p.get(instanceapi.Port, instanceapi.PathRequests+"?seconds=60"); err != nil || code != 404 {
		t.Errorf("the last minute was answered with %d %q (%v)", code, text, err)
	}
}

// metrics returns an error unless the metrics contain each line, either up to its end or up to the
// value.
func (p *Pod) metrics(lines ...string) error {
	code, text, err := p.get(instanceapi.Port, instanceapi.PathMetrics)
	if err != nil || code != 200 {
		return fmt.Errorf("%d %s %w", code, text, err)
	}
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line) {
			return fmt.Errorf("%s is missing in:\n%s", line, text)
		}
	}
	return nil
}
