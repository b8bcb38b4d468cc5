package httpserver_test

import (
	"testing"

	"example.com/nginx-operator/internal/httpserver"
	"example.com/nginx-operator/test/overload"
)

// TestBoundariesOfListeners: ten times as much as each limit of the listeners for probes is bounded. The packages of the other
// listeners have such a test of their limits.
func TestBoundariesOfListeners(t *testing.T) { overload.Listener(t, httpserver.ProbeLimits()) }
