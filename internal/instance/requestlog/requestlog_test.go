package requestlog

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"example.com/nginx-operator/internal/instance/window"
)

// line is what nginx sends.
func line(fields ...string) []byte {
	return []byte("<190>Nov 21 04:00:00 nginx_operator: " + strings.Join(fields, "\t"))
}

func TestParse(t *testing.T) {
	tests := map[string]struct {
		line []byte
		want Entry
		err  error
	}{
		"static": {line("200", "GET", "0.003", "1024", "80", "shop.example.com", "-"),
			Entry{Status: 200, Method: []byte("GET"), Server: []byte("shop.example.com"), Seconds: .003, Sent: 1024, Received: 80}, nil},
		"proxied": {line("502", "POST", "1.500", "10", "8000", "", "0.500, 1.000"),
			Entry{Status: 502, Method: []byte("POST"), Server: []byte{}, Seconds: 1.5, Sent: 10, Received: 8000, UpstreamSeconds: 1.5, Upstream: true}, nil},
		"redirected inside": {line("200", "GET", "0.250", "1", "1", "a", "0.125 : 0.125"),
			Entry{Status: 200, Method: []byte("GET"), Server: []byte("a"), Seconds: .25, Sent: 1, Received: 1, UpstreamSeconds: .25, Upstream: true}, nil},
		"hung up":       {line("000", "", "0.000", "0", "0", "a", ""), Entry{Method: []byte{}, Server: []byte("a")}, nil},
		"too few":       {line("200", "GET"), Entry{}, errFields},
		"too many":      {line("200", "GET", "0", "0", "0", "a", "-", "b"), Entry{}, errFields},
		"no number":     {line("abc", "GET", "0", "0", "0", "a", "-"), Entry{}, errNumber},
		"negative":      {line("200", "GET", "-1", "0", "0", "a", "-"), Entry{}, errNumber},
		"not ours":      {[]byte("hello"), Entry{}, errNoTag},
		"nothing":       {nil, Entry{}, errNoTag},
		"ends in a dot": {line("200", "GET", "1.", "0", "0", "a", "-"), Entry{}, errNumber},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got Entry
			if err := parse(tt.line, &got); err != tt.err { //nolint:errorlint // Sentinels, never wrapped.
				t.Fatalf("parse = %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// FuzzParse: whatever clients make nginx log, what is counted makes sense, and a scrape of it can be
// read: nothing of a request's own words is in it but the name of a server, as one label.
func FuzzParse(f *testing.F) {
	f.Add(line("200", "GET", "0.003", "1024", "80", "shop.example.com", "0.1, 0.2"))
	f.Add(line("499", "X\nnginx_http_requests_total 1", "0", "0", "0", "a\"} 1\n# x", "-, 1 : 2"))
	f.Add(line("99999999999", "\xff", "1."+strings.Repeat("0", 400), "0", "0", "\xff\xfe", "1.5.5"))
	f.Fuzz(func(t *testing.T, text []byte) {
		registry := prometheus.NewRegistry()
		m := NewMetrics(registry)
		var e Entry
		if parse(text, &e) != nil {
			return
		}
		for name, value := range map[string]float64{"seconds": e.Seconds, "sent": e.Sent, "received": e.Received, "upstream": e.UpstreamSeconds} {
			if math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
				t.Errorf("%s are %v", name, value)
			}
		}
		m.observe(&e)
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var scrape bytes.Buffer
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(&scrape, family); err != nil {
				t.Fatal(err)
			}
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		read, err := parser.TextToMetricFamilies(&scrape)
		if err != nil || len(read) != len(families) {
			t.Fatalf("%d of %d families can be read: %v", len(read), len(families), err)
		}
		if n := len(read["nginx_http_requests_total"].Metric); n != 1 {
			t.Errorf("one request makes %d series", n)
		}
	})
}

func TestCardinalityIsBounded(t *testing.T) {
	m := NewMetrics(prometheus.NewRegistry())
	var e Entry
	for i := range 1000 {
		if err := parse(line("200", fmt.Sprintf("M%d", i), "0", "0", "0", fmt.Sprintf("s%d", i), "-"), &e); err != nil {
			t.Fatal(err)
		}
		m.observe(&e)
	}
	if n := testutil.CollectAndCount(m.requests); n > maxServers+1 {
		t.Errorf("there are %d series", n)
	}
	if n := testutil.ToFloat64(m.requests.WithLabelValues(otherServer, otherMethod, "2xx")); n != 1000-maxServers {
		t.Errorf("%v requests of other servers, want %d", n, 1000-maxServers)
	}
}

// TestLog reads from a real socket, as nginx writes to it.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.sock")
	m, recent := NewMetrics(prometheus.NewRegistry()), window.NewRing(time.Now)
	// What an earlier process has left does not stand in the way.
	for round := range 2 {
		log, err := Listen(path, m, recent)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- log.Run(ctx) }()
		conn, err := net.Dial("unixgram", path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{line("200", "GET", "0.1", "1", "1", "a", "-"), []byte("garbage")} {
			if _, err := conn.Write(text); err != nil {
				t.Fatal(err)
			}
		}
		for deadline := time.Now().Add(10 * time.Second); testutil.ToFloat64(m.malformed) <= float64(round); {
			if time.Now().After(deadline) {
				t.Fatal("the lines were not read")
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if n := testutil.ToFloat64(m.requests.WithLabelValues("a", "GET", "2xx")); n != 2 {
		t.Errorf("%v requests were counted, want 2", n)
	}
	if w := recent.Last(time.Minute); w.Requests != 2 || w.Latency.Count() != 2 {
		t.Errorf("the last minute had %+v, want 2 requests", w)
	}
}

func newLog() *Log {
	return &Log{metrics: NewMetrics(prometheus.NewRegistry()), recent: window.NewRing(time.Now)}
}

func TestARequestAllocatesNothing(t *testing.T) {
	l, text := newLog(), line("200", "GET", "0.003", "1024", "80", "shop.example.com", "0.002")
	var e Entry
	if n := testing.AllocsPerRun(1000, func() { l.count(text, &e) }); n != 0 {
		t.Errorf("a request costs %v allocations", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	l, text := newLog(), line("200", "GET", "0.003", "1024", "80", "shop.example.com", "0.002")
	var e Entry
	b.ReportAllocs()
	for b.Loop() {
		l.count(text, &e)
	}
}
