package plugin

import (
	"testing"

	"example.com/nginx-operator/test/overload"
)

// TestBoundariesOfConsole: ten times as much as each limit of the plugin's console is bounded.
func TestBoundariesOfConsole(t *testing.T) { overload.Listener(t, consoleLimits) }
