package agent

import (
	"testing"

	"example.com/nginx-operator/test/overload"
)

// TestBoundariesOfRestore: ten times as much as each limit of port 9114 is bounded.
func TestBoundariesOfRestore(t *testing.T) { overload.Listener(t, serveLimits) }
