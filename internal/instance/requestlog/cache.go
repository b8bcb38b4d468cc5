package requestlog

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// These bound the values of labels. The schema of NginxCache allows as many rules, and half as many origins; a pod
// counts those of earlier configurations, too.
const (
	maxRules   = 64
	maxOrigins = 64
)

// The label values for everything without a value of its own.
const (
	other       = "other"
	defaultRule = "default"
)

// results are the values of the label result, by what nginx logs.
var results = map[string]string{
	"HIT": "hit", "MISS": "miss", "EXPIRED": "expired", "STALE": "stale", "UPDATING": "updating", "REVALIDATED": "revalidated",
	"BYPASS": "bypass", "bypass": "bypass", "handover": "handover", "none": "none",
}

// sources are the values of the label source.
var sources = map[string]string{"edge": "edge", "shards": "shards", "origin": "origin", "none": "none"}

var errCache = errors.New("the line does not have what a cache logs")

// cacheEntry is what a cache logs of a request, as instanceapi.VariableCacheLog defines it. All fields are empty in a
// line of a configuration that does not define the variable.
type cacheEntry struct {
	// Result and Source are of a request of a client or an edge. Rule is empty if no rule matched.
	Result, Source, Rule []byte
	// Origin is the name of the origin, if it is a request to one.
	Origin []byte
	// OriginStatus is the status of its last attempt, or 0 if there was no answer.
	OriginStatus int
	// Internal reports whether it is a request of nginx to itself.
	Internal bool
}

// parseCache parses the field of a cache. It does not allocate.
func parseCache(field []byte, e *cacheEntry) error {
	*e = cacheEntry{}
	form, rest, _ := bytes.Cut(field, []byte{' '})
	first, rest, _ := bytes.Cut(rest, []byte{' '})
	switch {
	case string(field) == "internal":
		e.Internal = true
		return nil
	case len(first) == 0:
	case string(form) == "origin":
		e.Origin, e.OriginStatus = first, lastStatus(rest)
		return nil
	case string(form) == "request":
		e.Result = first
		e.Source, e.Rule, _ = bytes.Cut(rest, []byte{' '})
		return nil
	}
	return errCache
}

// lastStatus returns the last status of several attempts, as in "502, 200 : 504", or 0 if it is "-".
func lastStatus(text []byte) int {
	status, _ := integer(text[bytes.LastIndexByte(text, ' ')+1:])
	return status
}

// CacheMetrics are the metrics of the requests of a cache.
type CacheMetrics struct {
	requests, sent, origin *prometheus.CounterVec

	// These find the series of a request without building labels, and have no lock, like those of Metrics.
	answers map[answer]answerCounters
	origins map[string]*[len(classes)]prometheus.Counter
}

// answer identifies the series of a request by the values of their labels.
type answer struct{ result, source, rule string }

type answerCounters struct{ requests, sent prometheus.Counter }

// NewCacheMetrics returns new metrics, registered with r.
func NewCacheMetrics(r prometheus.Registerer) *CacheMetrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &CacheMetrics{
		requests: counter("nginx_cache_requests_total", "Requests by the result for the cache of the pod, by where the answer is from, and by rule.", "result", "source", "rule"),
		sent:     counter("nginx_cache_response_bytes_total", "Bytes of the answers, including headers, by the result for the cache of the pod and by where the answer is from.", "result", "source"),
		origin:   counter("nginx_cache_origin_requests_total", "Requests to origins, by class of the status code of the last attempt.", "origin", "code"),
		answers:  map[answer]answerCounters{},
		origins:  map[string]*[len(classes)]prometheus.Counter{},
	}
	r.MustRegister(m.requests, m.sent, m.origin)
	return m
}

// observe counts a request of a client. It allocates only for a new series.
func (m *CacheMetrics) observe(e *cacheEntry, sent float64) {
	key := answer{result: label(results, e.Result), source: label(sources, e.Source), rule: ruleLabel(e.Rule)}
	c, ok := m.answers[key]
	if !ok {
		c = answerCounters{m.requests.WithLabelValues(key.result, key.source, key.rule), m.sent.WithLabelValues(key.result, key.source)}
		m.answers[key] = c
	}
	c.requests.Inc()
	c.sent.Add(sent)
}

// observeOrigin counts a request to an origin. It allocates only for a new series.
func (m *CacheMetrics) observeOrigin(e *cacheEntry) {
	counters, ok := m.origins[string(e.Origin)]
	if !ok {
		counters = m.newOrigin(e.Origin)
	}
	counters[class(e.OriginStatus)].Inc()
}

func (m *CacheMetrics) newOrigin(name []byte) *[len(classes)]prometheus.Counter {
	label := strings.ToValidUTF8(string(name), "?")
	if len(m.origins) >= maxOrigins {
		label = other
		if counters, ok := m.origins[other]; ok {
			return counters
		}
	}
	counters := &[len(classes)]prometheus.Counter{}
	// A counter that begins at 0 shows its first increase to Prometheus.
	for i, class := range classes {
		counters[i] = m.origin.WithLabelValues(label, class)
	}
	m.origins[label] = counters
	return counters
}

// label returns the label value of text. The lookup does not allocate.
func label(values map[string]string, text []byte) string {
	if value, known := values[string(text)]; known {
		return value
	}
	return other
}

// ruleLabels are the label values of the rules.
var ruleLabels = func() (labels [maxRules]string) {
	for i := range labels {
		labels[i] = strconv.Itoa(i)
	}
	return labels
}()

func ruleLabel(rule []byte) string {
	if len(rule) == 0 {
		return defaultRule
	}
	if n, ok := integer(rule); ok && n < maxRules {
		return ruleLabels[n]
	}
	return other
}
