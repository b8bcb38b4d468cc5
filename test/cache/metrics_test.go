//go:build instance

package cache

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/instance/cachevolume"
	"example.com/nginx-operator/internal/instance/requestlog"
	"example.com/nginx-operator/internal/instance/window"
	"example.com/nginx-operator/internal/instanceapi"
)

// counted are the counters of a pod: by name and labels, such as nginx_cache_requests_total{hit edge default}.
type counted map[string]float64

// of returns the counters of a name that are not 0, by their labels.
func (c counted) of(name string) map[string]float64 {
	found := map[string]float64{}
	for series, value := range c {
		if labels, ok := strings.CutPrefix(series, name+"{"); ok && value != 0 {
			found[strings.TrimSuffix(labels, "}")] = value
		}
	}
	return found
}

func (c counted) sum(name string) (total float64) {
	for _, value := range c.of(name) {
		total += value
	}
	return total
}

// count reads the request log of a pod with its instance manager's code. The log is emptied.
func count(t *testing.T, path string) func() counted {
	t.Helper()
	registry := prometheus.NewRegistry()
	metrics := requestlog.NewMetrics(registry)
	metrics.Cache = requestlog.NewCacheMetrics(registry)
	log, err := requestlog.Open(path, metrics, window.NewRing(time.Now))
	must(t, err)
	return func() counted {
		must(t, log.CatchUp())
		families, err := registry.Gather()
		must(t, err)
		all := counted{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				values := map[string]string{}
				for _, l := range m.GetLabel() {
					values[l.GetName()] = l.GetValue()
				}
				labels := strings.TrimSpace(strings.Join([]string{values["result"], values["source"], values["rule"], values["origin"], values["code"]}, " "))
				all[fmt.Sprintf("%s{%s}", family.GetName(), strings.Join(strings.Fields(labels), " "))] += m.GetCounter().GetValue()
			}
		}
		return all
	}
}

// TestMetrics: each request to the edge is counted once, with its result, and so is each one that the shard and the
// origin get.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, func(spec *v1alpha1.NginxCacheSpec) {
		spec.Defaults.StaleWhileRevalidate = "1h"
		spec.Rules = []v1alpha1.Rule{
			{Match: v1alpha1.Match{PathPrefix: new("/static/")}, TTL: new(v1alpha1.Duration("1d"))},
			{Match: v1alpha1.Match{PathPrefix: new("/cart")}, Bypass: new(true)},
		}
	})
	edge, shard := count(t, s.logs[1]), count(t, s.logs[0])
	sent := s.sendMix(t)

	var atEdge, atShard counted
	poll().Eventually(t, "the logs are complete", func() error {
		atEdge, atShard = edge(), shard()
		if n := atEdge.sum("nginx_cache_requests_total"); int(n) != sent {
			return fmt.Errorf("%v of %d requests were counted", n, sent)
		}
		return s.compareOrigin(atEdge, atShard)
	})
	if n := atEdge.sum("nginx_http_requests_total"); int(n) != sent {
		t.Errorf("%v of %d requests were counted by status", n, sent)
	}
	if n := atShard.sum("nginx_http_requests_total"); n != atShard.sum("nginx_cache_requests_total") {
		t.Errorf("the shard has counted %v requests by status, %v by result", n, atShard.sum("nginx_cache_requests_total"))
	}
	t.Logf("sent %d, counted %v by result, %v by status", sent, atEdge.sum("nginx_cache_requests_total"), atEdge.sum("nginx_http_requests_total"))
	want := map[string]float64{
		"miss origin 0": 2, "hit edge or shard 0": 22,
		"bypass origin 1": 1, "bypass origin default": 3, "none none default": 1,
		"miss origin default": 4, "stale edge default": 1, "expired origin default": 1,
	}
	// Of the clients that come at once, those that come first get the object from the shard.
	got := atEdge.of("nginx_cache_requests_total")
	got["hit edge or shard 0"] = got["hit edge 0"] + got["miss shards 0"]
	fromShard := got["miss shards 0"]
	delete(got, "hit edge 0")
	delete(got, "miss shards 0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("at the edge: -want +got:\n%s", diff)
	}
	want = map[string]float64{"miss origin 0": 2, "hit shards 0": fromShard, "miss origin default": 4, "stale shards default": 1, "expired origin default": 1}
	if diff := cmp.Diff(want, atShard.of("nginx_cache_requests_total")); diff != "" {
		t.Errorf("at the shard: -want +got:\n%s", diff)
	}
	poll().Eventually(t, "the age of what the shard has stored is known", func() error { return age(t, filepath.Dir(s.logs[0])+"/cache") })
}

// age measures the volume in a folder. It returns an error if there is no age, or a wrong one.
func age(t *testing.T, dir string) error {
	t.Helper()
	registry := prometheus.NewRegistry()
	volume := cachevolume.New(dir, filepath.Join(t.TempDir(), "closed"), time.Now)
	must(t, errors.Join(registry.Register(volume), volume.Start(t.Context(), t.Context())))
	families, err := registry.Gather()
	must(t, err)
	for _, family := range families {
		if family.GetName() != "nginx_cache_object_age_seconds" {
			continue
		}
		if age := family.GetMetric()[0].GetGauge().GetValue(); age <= 0 || age > time.Minute.Seconds() {
			return fmt.Errorf("it is %v s", age)
		}
		return nil
	}
	return errors.New("no object was found")
}

// sendMix sends requests with all results, and returns their number.
func (s *tiers) sendMix(t *testing.T) (sent int) {
	t.Helper()
	request := func(method, path string, headers ...string) {
		sent++
		s.send(t, method, path, headers...)
	}
	request(http.MethodGet, "/static/a") // missed by both
	request(http.MethodGet, "/static/a")
	request(http.MethodHead, "/static/a")
	dropped := s.purged[1].Number() + 1
	must(t, s.purged[1].Apply(t.Context(), instanceapi.Purges{Since: dropped - 1, List: []instanceapi.Purge{{Number: dropped, All: true}}}))
	request(http.MethodGet, "/static/a") // missed by the edge
	request(http.MethodGet, "/cart")
	request(http.MethodPost, "/form")
	request(http.MethodGet, "/private", "Cookie", "session=1")
	s.origin.setStatus("/broken", http.StatusInternalServerError)
	request(http.MethodGet, "/broken")
	s.origin.setStatus("/gone", http.StatusNotFound)
	request(http.MethodGet, "/gone")

	// One object is stale, and its origin fails; another one must not be stale.
	stale, strict := with("/stale", "Cache-Control", "max-age=1"), with("/strict", "Cache-Control", "max-age=1, must-revalidate")
	request(http.MethodGet, stale)
	request(http.MethodGet, strict)
	time.Sleep(2100 * time.Millisecond)
	s.origin.setStatus("/stale", http.StatusServiceUnavailable)
	request(http.MethodGet, stale)
	request(http.MethodGet, strict)

	// Many clients request an object at once.
	const clients = 20
	var group sync.WaitGroup
	for range clients {
		group.Go(func() { s.get(t, "/static/b?delay=200ms") })
	}
	group.Wait()

	// A request that nginx answers by itself, and a client that leaves before the answer.
	raw(t, s.edge, "GET / HTTP/1.1\r\n\r\n", nil)
	raw(t, s.edge, "POST /slow?delay=5s HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", func() error {
		if n := len(s.origin.received("/slow")); n != 1 {
			return fmt.Errorf("the origin has received %d requests", n)
		}
		return nil
	})
	return sent + clients + 2
}

// compareOrigin compares what the origin has received with what the gateways of pods have counted.
func (s *tiers) compareOrigin(pods ...counted) error {
	got, want := map[string]float64{}, s.origin.classes()
	for _, pod := range pods {
		for labels, n := range pod.of("nginx_cache_origin_requests_total") {
			got[labels] += n
		}
	}
	// The client that has left did not see its answer.
	want["app 2xx"]--
	want["app 0xx"]++
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("the requests to the origin: -want +got:\n%s", diff)
	}
	return nil
}

// TestOriginAway: an origin that cannot be reached is an error of this origin.
func TestOriginAway(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	edge, shard := count(t, s.logs[1]), count(t, s.logs[0])
	must(t, s.origin.server.Close())
	s.send(t, http.MethodGet, "/a")
	s.send(t, http.MethodPost, "/b")
	poll().Eventually(t, "the requests are counted", func() error {
		atEdge, atShard := edge(), shard()
		if n := atEdge.of("nginx_cache_origin_requests_total")["app 5xx"]; n != 1 {
			return fmt.Errorf("%v errors at the edge: %v", n, atEdge)
		}
		if n := atShard.of("nginx_cache_origin_requests_total")["app 5xx"]; n != 1 {
			return fmt.Errorf("%v errors at the shard: %v", n, atShard)
		}
		return nil
	})
}

// TestShardAway: while no shard answers, the edge requests from the origin.
func TestShardAway(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	edge := count(t, s.logs[1])
	must(t, s.shard.Process.Signal(syscall.SIGTERM))
	s.get(t, "/a")
	s.get(t, "/a")
	poll().Eventually(t, "the requests are counted", func() error {
		want := map[string]float64{"miss origin default": 1, "hit edge default": 1}
		if diff := cmp.Diff(want, edge().of("nginx_cache_requests_total")); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// raw sends bytes, and waits for the answer, or until it may leave.
func raw(t *testing.T, address, text string, leave func() error) {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	must(t, err)
	defer func() { _ = conn.Close() }() // nginx may have closed it.
	_, err = conn.Write([]byte(text))
	must(t, err)
	if leave != nil {
		poll().Eventually(t, "the client leaves", leave)
		return
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Errorf("the answer to %q: %v", text, err)
	}
}
