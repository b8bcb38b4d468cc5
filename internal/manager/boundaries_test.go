package manager

import (
	"testing"

	"example.com/nginx-operator/test/overload"
)

// TestBoundariesOfMetrics: ten times as much as each limit of the metrics is bounded.
func TestBoundariesOfMetrics(t *testing.T) { overload.Listener(t, metricsLimits) }
