//go:build !linux

package httpserver

import (
	"context"
	"net"
)

// Listen listens on a TCP address.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}
