package server

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// scrapeFreshness is how long gathered metrics are good for: a gathering takes time and
// memory, and whoever reaches the port can ask for one after the other.
const scrapeFreshness = time.Second

// gatherer gathers at most once in scrapeFreshness, and shares the result.
type gatherer struct {
	prometheus.Gatherer
	now func() time.Time

	mu       sync.Mutex
	at       time.Time
	families []*dto.MetricFamily
}

// Gather implements prometheus.Gatherer. The result must not be changed.
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
