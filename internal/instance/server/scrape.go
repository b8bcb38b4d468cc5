package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// scrapeFreshness is how long gathered metrics are reused: gathering takes time and memory, and
// every client that reaches the port can request it repeatedly.
const scrapeFreshness = time.Second

// gatherer gathers at most once per scrapeFreshness and shares the result.
type gatherer struct {
	prometheus.Gatherer
	now func() time.Time

	mu       sync.Mutex
	at       time.Time
	families []*dto.MetricFamily
}

// Gather implements prometheus.Gatherer. The caller must not change the result.
func (g *gatherer) Gather() ([]*dto.MetricFamily, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.now(); g.families == nil || now.Sub(g.at) >= scrapeFreshness {
		families, err := g.Gatherer.Gather()
		if err != nil {
			return families, err
		}
		g.families, g.at = families, now
	}
	return g.families, nil
}
