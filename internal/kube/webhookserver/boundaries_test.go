package webhookserver

import (
	"testing"

	"example.com/nginx-operator/test/overload"
)

// TestBoundariesOfWebhook: ten times as much as each limit of the webhook's listener is bounded.
func TestBoundariesOfWebhook(t *testing.T) { overload.Listener(t, limits) }
