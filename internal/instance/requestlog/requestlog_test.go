package requestlog

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"example.com/nginx-operator/internal/instance/window"
)

// line returns a line of a worker with the configuration 0123456789abcdef.
func line(fields ...string) []byte {
	return []byte(strings.Join(fields, "\t") + "\t192.0.2.1\t0123456789abcdef")
}

func TestParse(t *testing.T) {
	revision := []byte("0123456789abcdef")
	tests := map[string]struct {
		line []byte
		want Entry
		err  error
	}{
		"static": {line("200", "GET", "0.003", "1024", "80", "shop.example.com", "-"),
			Entry{Status: 200, Method: []byte("GET"), Server: []byte("shop.example.com"), Seconds: .003, Sent: 1024, Received: 80, Revision: revision}, nil},
		"proxied": {line("502", "POST", "1.500", "10", "8000", "", "0.500, 1.000"),
			Entry{Status: 502, Method: []byte("POST"), Server: []byte{}, Seconds: 1.5, Sent: 10, Received: 8000, UpstreamSeconds: 1.5, Upstream: true, Revision: revision}, nil},
		"redirected inside": {line("200", "GET", "0.250", "1", "1", "a", "0.125 : 0.125"),
			Entry{Status: 200, Method: []byte("GET"), Server: []byte("a"), Seconds: .25, Sent: 1, Received: 1, UpstreamSeconds: .25, Upstream: true, Revision: revision}, nil},
		"hung up":       {line("000", "", "0.000", "0", "0", "a", ""), Entry{Method: []byte{}, Server: []byte("a"), Revision: revision}, nil},
		"too few":       {line("200", "GET", "0", "0", "0", "a"), Entry{}, errFields},
		"too many":      {line("200", "GET", "0", "0", "0", "a", "-", "b"), Entry{}, errFields},
		"no number":     {line("abc", "GET", "0", "0", "0", "a", "-"), Entry{}, errNumber},
		"negative":      {line("200", "GET", "-1", "0", "0", "a", "-"), Entry{}, errNumber},
		"not ours":      {[]byte("hello"), Entry{}, errFields},
		"nothing":       {nil, Entry{}, errFields},
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

// FuzzParse: whatever clients make nginx log, the counts are valid and the metrics can be scraped.
// Only the server name of a request appears in them, as one label.
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

// nginx stands for a worker that appends to the log.
type nginx struct {
	t    *testing.T
	file *os.File
}

func (n nginx) write(text ...string) {
	n.t.Helper()
	if _, err := n.file.WriteString(strings.Join(text, "")); err != nil {
		n.t.Fatal(err)
	}
}

// openLog returns a log and a worker that writes to it.
func openLog(t *testing.T) (*Log, nginx) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests.log")
	// Lines that an earlier process left are not counted again.
	if err := os.WriteFile(path, append(line("200", "GET", "0", "0", "0", "left", "-"), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := Open(path, NewMetrics(prometheus.NewRegistry()), newRing())
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = file.Close(), log.file.Close() })
	return log, nginx{t, file}
}

func (l *Log) counts(t *testing.T, requests, malformed float64) {
	t.Helper()
	if _, err := l.read(); err != nil {
		t.Fatal(err)
	}
	if n := testutil.ToFloat64(l.metrics.requests.WithLabelValues("a", "GET", "2xx")); n != requests {
		t.Errorf("%v requests were counted, want %v", n, requests)
	}
	if n := testutil.ToFloat64(l.metrics.malformed); n != malformed {
		t.Errorf("%v lines were malformed, want %v", n, malformed)
	}
	if w := l.recent.Last("", time.Minute); float64(w.Requests) != requests {
		t.Errorf("the last minute had %d requests, want %v", w.Requests, requests)
	}
	if n := testutil.CollectAndCount(l.metrics.requests); n > 1 {
		t.Errorf("there are %d series", n)
	}
}

// one is a line as nginx writes it.
var one = string(line("200", "GET", "0.1", "1", "1", "a", "-")) + "\n"

func TestLog(t *testing.T) {
	log, worker := openLog(t)
	log.counts(t, 0, 0)
	worker.write(one, one)
	log.counts(t, 2, 0)
	// A write may be read before it is complete.
	worker.write(one, one[:10])
	log.counts(t, 3, 0)
	log.counts(t, 3, 0)
	worker.write(one[10:], "garbage\n", one)
	log.counts(t, 5, 1)
	// This is more than one chunk, and the chunks end within lines.
	many := 5 * chunk / len(one)
	worker.write(strings.Repeat(one, many))
	log.counts(t, float64(5+many), 1)
	// A line that is too long is skipped.
	worker.write(strings.Repeat("x", 3*chunk))
	log.counts(t, float64(5+many), 2)
	worker.write("x\n", one)
	log.counts(t, float64(6+many), 2)
}

// TestLogTakesNoMemory: the memory of lines that were read is freed.
func TestLogTakesNoMemory(t *testing.T) {
	for _, whole := range []bool{false, true} {
		log, worker := openLog(t)
		log.whole = whole
		requests := 0
		for range 200 {
			const burst = 500
			worker.write(strings.Repeat(one, burst))
			requests += burst
			if _, err := log.read(); err != nil {
				t.Fatal(err)
			}
		}
		log.counts(t, float64(requests), 0)
		info, err := log.file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if blocks := info.Sys().(*syscall.Stat_t).Blocks * 512; blocks > emptyAt+64<<10 || !whole && blocks > 64<<10 {
			t.Errorf("without holes %t: %d bytes of %d are kept", whole, blocks, requests*len(one))
		}
	}
}

// TestLogOfAFullFileSystem: lines that nginx could not write are lost, but later ones are counted.
func TestLogOfAFullFileSystem(t *testing.T) {
	log, worker := openLog(t)
	worker.write(one, one[:7])
	log.counts(t, 1, 0)
	worker.write(one, one)
	log.counts(t, 2, 1)
}

func TestRun(t *testing.T) {
	log, worker := openLog(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- log.Run(ctx) }()
	worker.write(one)
	for deadline := time.Now().Add(10 * time.Second); log.recent.Last("", time.Minute).Requests == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the line was not read")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func newLog() *Log {
	return &Log{metrics: NewMetrics(prometheus.NewRegistry()), recent: newRing()}
}

func newRing() *window.Ring {
	r := window.NewRing(time.Now)
	r.SetServedRevision("0123456789abcdef")
	return r
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
