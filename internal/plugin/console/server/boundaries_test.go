package server

import (
	"testing"

	"example.com/nginx-operator/test/overload"
)

// TestBoundariesOfConsoleServer: ten times as much as each limit of the console in the cluster is bounded.
func TestBoundariesOfConsoleServer(t *testing.T) { overload.Listener(t, limits) }
