package requestlog

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// maxServers bounds the values of the label server. The values are the names of the server blocks,
// so there are few unless the names are generated.
const maxServers = 64

// These label values stand for everything without a value of its own.
const (
	otherServer = "other"
	otherMethod = "OTHER"
)

// methods are the methods with a label value of their own; all others are counted as OTHER. The map
// is looked up by bytes and returns a string, so a lookup does not allocate.
var methods = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE",
		"PROPFIND", "PROPPATCH", "MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK",
	} {
		names[name] = name
	}
	return names
}()

var classes = [...]string{"0xx", "1xx", "2xx", "3xx", "4xx", "5xx"}

// Metrics are the metrics of the requests.
type Metrics struct {
	requests                           *prometheus.CounterVec
	duration, upstream, sent, received *prometheus.HistogramVec
	malformed                          prometheus.Counter

	// Cache are the metrics of the pod's cache; nil if it has none.
	Cache *CacheMetrics

	// servers and counters find the series of a request without building labels. They have no lock:
	// Log serializes the calls of observe.
	servers  map[string]*server
	counters map[series]prometheus.Counter
}

// server holds the histograms of a server block.
type server struct {
	name                               string
	duration, upstream, sent, received prometheus.Observer
}

type series struct {
	server *server
	class  int
	method string
}

// NewMetrics returns new metrics, registered with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"server"})
	}
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	bytes := prometheus.ExponentialBuckets(256, 4, 9)
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nginx_http_requests_total", Help: "Requests by server, method and class of the status code.",
		}, []string{"server", "method", "code"}),
		duration: histogram("nginx_http_request_duration_seconds", "Time from the first byte of a request to the last byte of the answer.", seconds),
		upstream: histogram("nginx_http_upstream_response_seconds", "Time that upstream servers took to answer, summed over all attempts of a request.", seconds),
		sent:     histogram("nginx_http_response_size_bytes", "Size of the answers, including headers.", bytes),
		received: histogram("nginx_http_request_size_bytes", "Size of the requests, including headers.", bytes),
		malformed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nginx_http_log_malformed_total", Help: "Lines of nginx's log that could not be read.",
		}),
		servers:  map[string]*server{},
		counters: map[series]prometheus.Counter{},
	}
	r.MustRegister(m.requests, m.duration, m.upstream, m.sent, m.received, m.malformed)
	return m
}

// parse parses a line of the log.
func (m *Metrics) parse(line []byte, e *Entry) error {
	if m.Cache == nil {
		return parse(line, e)
	}
	return parseWithCache(line, e)
}

// observe counts a request, and reports whether it is one of a client: what a cache requests from an origin or from
// itself is not. It allocates only for a new series.
func (m *Metrics) observe(e *Entry) bool {
	switch {
	case m.Cache == nil:
	case e.Cache.Internal:
		return false
	case len(e.Cache.Origin) > 0:
		m.Cache.observeOrigin(&e.Cache)
		return false
	case len(e.Cache.Result) > 0:
		m.Cache.observe(&e.Cache, e.Sent)
	}
	s := m.server(e.Server)
	m.counter(s, e).Inc()
	s.duration.Observe(e.Seconds)
	s.sent.Observe(e.Sent)
	s.received.Observe(e.Received)
	if e.Upstream {
		s.upstream.Observe(e.UpstreamSeconds)
	}
	return true
}

func (m *Metrics) server(name []byte) *server {
	if s, ok := m.servers[string(name)]; ok {
		return s
	}
	label := strings.ToValidUTF8(string(name), "?")
	switch {
	case len(m.servers) >= maxServers:
		if s, ok := m.servers[otherServer]; ok {
			return s
		}
		label = otherServer
	case label == "":
		label = "_"
	}
	s := &server{label, m.duration.WithLabelValues(label), m.upstream.WithLabelValues(label),
		m.sent.WithLabelValues(label), m.received.WithLabelValues(label)}
	if label == otherServer {
		m.servers[otherServer] = s
	} else {
		m.servers[string(name)] = s
	}
	return s
}

func (m *Metrics) counter(s *server, e *Entry) prometheus.Counter {
	key := series{server: s, class: class(e.Status), method: otherMethod}
	if method, known := methods[string(e.Method)]; known {
		key.method = method
	}
	if c, ok := m.counters[key]; ok {
		return c
	}
	c := m.requests.WithLabelValues(s.name, key.method, classes[key.class])
	m.counters[key] = c
	return c
}

// class returns the class of a status code, or 0 if it has none, such as the 000 of a client that
// closed the connection.
func class(status int) int {
	if c := status / 100; c < len(classes) {
		return c
	}
	return 0
}
