//go:build instance

package instance_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/test/standin/container"
)

// edge returns the configuration of an edge whose shard is away and whose origin is in the pod.
func edge(t *testing.T) map[string]string {
	t.Helper()
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "front"}}
	cache.Spec.Origins = []v1alpha1.Origin{{Name: "app", URL: new("http://127.0.0.1:82")}}
	cache.Spec.Defaults = v1alpha1.Defaults{TTL: "10m", StaleWhileRevalidate: "0", StaleIfError: "1h"}
	files, err := cacheconf.Edge(cacheconf.Input{Cache: cache, Shards: cacheconf.Peers{"127.0.0.1:81"}, HotSize: 1 << 20})
	must(t, err)
	for name, text := range files {
		// The pod has no name server.
		files[name] = strings.NewReplacer("127.0.0.1:81:80 resolve", "127.0.0.1:81", " resolve;", ";").Replace(text)
	}
	return files
}

// serveInside serves HTTP in the pod's network.
func (p *Pod) serveInside(address string, handler http.HandlerFunc) {
	p.t.Helper()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	must(p.t, p.container.Inside(func() error {
		listener, err := net.Listen("tcp4", address)
		if err == nil {
			go func() { _ = server.Serve(listener) }() // It returns when it is closed.
		}
		return err
	}))
	p.t.Cleanup(func() { _ = server.Close() })
}

// TestCacheMetrics: the pod of a cache counts what the cache has done. The requests that it makes to origins are not
// those of clients.
func TestCacheMetrics(t *testing.T) {
	p := newPod(t, edge(t))
	dir := filepath.Join(p.dir, "hot")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chmod(dir, 0o777))
	p.mounts = append(p.mounts, container.Mount{From: dir, To: cacheconf.Dir})
	p.start("forky", http80, "--cache-dir="+cacheconf.Dir)
	p.ready()
	p.serveInside("127.0.0.1:82", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	p.times(3, "/a")
	if _, _, err := p.get(80, "/broken"); err != nil {
		t.Fatal(err)
	}
	p.eventually("all requests are counted", func() error {
		return p.metrics(
			`nginx_cache_requests_total{result="miss",rule="default",source="origin"} 2`,
			`nginx_cache_requests_total{result="hit",rule="default",source="edge"} 2`,
			`nginx_cache_origin_requests_total{code="2xx",origin="app"} 1`,
			`nginx_cache_origin_requests_total{code="5xx",origin="app"} 1`,
			`nginx_http_requests_total{code="2xx",method="GET",server="_"} 3`,
			`nginx_http_requests_total{code="5xx",method="GET",server="_"} 1`,
			`nginx_http_log_malformed_total 0`,
			`nginx_cache_volume_size_bytes `,
		)
	})
}
