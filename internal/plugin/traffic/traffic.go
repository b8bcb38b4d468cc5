// Package traffic reads what the pods of an application have served from their metrics. It is pure.
package traffic

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Counts are what a pod has counted since it started.
type Counts struct {
	Requests, Errors float64
	// Latency has the number of requests up to each bound, in seconds.
	Latency map[float64]float64
	// Serving is the revision of the configuration that is served.
	Serving string
}

// Pod is what the metrics of a pod say.
type Pod struct {
	Counts
	// Servers are the counts of each server block.
	Servers map[string]Counts
	// Connections are those of clients. Memory is that of nginx, in bytes.
	Connections, Memory float64
}

// MaxLines is the maximum number of lines of metrics. An instance has at most a few thousand: a line takes hundreds of bytes of
// memory once it is parsed, however short it is.
const MaxLines = 10_000

// Parse reads the metrics of a pod.
func Parse(metrics io.Reader) (Pod, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&boundedLines{from: metrics})
	if err != nil {
		return Pod{}, fmt.Errorf("parse metrics: %w", err)
	}
	p := Pod{Servers: map[string]Counts{}}
	for _, m := range families["nginx_http_requests_total"].GetMetric() {
		requests := Counts{Requests: value(m)}
		if labelOf(m, "code") == "5xx" {
			requests.Errors = value(m)
		}
		p.add(m, requests)
	}
	for _, m := range families["nginx_http_request_duration_seconds"].GetMetric() {
		latency := map[float64]float64{}
		for _, b := range m.GetHistogram().GetBucket() {
			latency[b.GetUpperBound()] = float64(b.GetCumulativeCount())
		}
		p.add(m, Counts{Latency: latency})
	}
	for _, m := range families["nginx_config_info"].GetMetric() {
		p.Serving = labelOf(m, "serving")
	}
	for _, m := range families["nginx_connections"].GetMetric() {
		if labelOf(m, "state") == "active" {
			p.Connections += value(m)
		}
	}
	for _, m := range families["nginx_resident_memory_bytes"].GetMetric() {
		p.Memory += value(m)
	}
	return p, nil
}

// boundedLines reads at most MaxLines lines.
type boundedLines struct {
	from  io.Reader
	lines int
}

// Read implements io.Reader.
func (b *boundedLines) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.lines += bytes.Count(p[:n], []byte{'\n'}); b.lines > MaxLines {
		return 0, fmt.Errorf("the metrics have more than %d lines", MaxLines)
	}
	return n, err
}

// add adds counts of a server block.
func (p *Pod) add(m *dto.Metric, counts Counts) {
	serving, server := p.Serving, labelOf(m, "server")
	p.Counts = p.Plus(counts)
	p.Serving = serving
	p.Servers[server] = p.Servers[server].Plus(counts)
}

// value returns the value of a counter or a gauge.
func value(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.GetCounter().GetValue()
	case m.Gauge != nil:
		return m.GetGauge().GetValue()
	}
	return m.GetUntyped().GetValue()
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// Rates are what was served in an interval.
type Rates struct {
	// Requests and Errors are numbers per second. Errors are the requests answered with 5xx.
	Requests float64 `json:"requests"`
	Errors   float64 `json:"errors"`
	// P50 and P99 are the latencies in seconds that half and 99 % of the requests did not exceed; nil: there was none.
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
}

// Since returns what was counted between two readings of a pod. A pod that has restarted meanwhile began at 0.
func (c Counts) Since(before Counts) Counts {
	if c.Requests < before.Requests {
		before = Counts{}
	}
	latency := map[float64]float64{}
	for bound, n := range c.Latency {
		latency[bound] = max(0, n-before.Latency[bound])
	}
	return Counts{Requests: c.Requests - before.Requests, Errors: max(0, c.Errors-before.Errors), Latency: latency}
}

// Over returns the rates of what was counted within some seconds.
func (c Counts) Over(seconds float64) Rates {
	if seconds <= 0 {
		return Rates{}
	}
	return Rates{Requests: c.Requests / seconds, Errors: c.Errors / seconds, P50: quantile(c.Latency, 0.5), P99: quantile(c.Latency, 0.99)}
}

// Plus returns the sum of what two pods have counted.
func (c Counts) Plus(other Counts) Counts {
	latency := maps.Clone(c.Latency)
	if latency == nil {
		latency = map[float64]float64{}
	}
	for bound, n := range other.Latency {
		latency[bound] += n
	}
	return Counts{Requests: c.Requests + other.Requests, Errors: c.Errors + other.Errors, Latency: latency}
}

// quantile interpolates within a bucket, as Prometheus does.
func quantile(latency map[float64]float64, q float64) *float64 {
	bounds := slices.Sorted(maps.Keys(latency))
	if len(bounds) == 0 || latency[bounds[len(bounds)-1]] == 0 {
		return nil
	}
	rank := q * latency[bounds[len(bounds)-1]]
	low, below := 0.0, 0.0
	for _, bound := range bounds {
		n := latency[bound]
		if n < rank {
			low, below = bound, n
			continue
		}
		if math.IsInf(bound, 1) {
			return &low
		}
		at := bound
		if n > below {
			at = low + (bound-low)*(rank-below)/(n-below)
		}
		return &at
	}
	return &low
}
