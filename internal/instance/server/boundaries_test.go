package server

import (
	"testing"

	"example.com/nginx-operator/test/overload"
)

// TestBoundariesOfInstance: ten times as much as each limit of port 9113 is bounded.
func TestBoundariesOfInstance(t *testing.T) { overload.Listener(t, limits) }
