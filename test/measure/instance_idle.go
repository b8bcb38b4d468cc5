package main

import (
	"context"
	"errors"
	"net"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/internal/figure"
)

const (
	// idleShare is the goal, in percent of a processor.
	idleShare = 0.1
	// idleSockets is the number of closed connections, which the kernel remembers for a minute.
	idleSockets = 60_000
	// idleWindow is short enough for the sockets to remain.
	idleWindow = 30 * time.Second
)

var aloneSite = map[string]string{"site.conf": "server { listen 80; return 200 ok; }"}

// measureInstanceIdle measures the cost of an instance manager that only answers probes.
func measureInstanceIdle(ctx context.Context, s *session) (figures []figure.Figure, err error) {
	a, err := startAlone(ctx, aloneSite, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.end()) }()
	for _, sockets := range []int{0, idleSockets} {
		name := "idle"
		if sockets > 0 {
			name = "with 60,000 sockets in TIME_WAIT"
			if err := a.fillSockets(ctx, sockets); err != nil {
				return figures, err
			}
		}
		s.progress("instance-idle: %s, for %s", name, idleWindow)
		share, err := a.idleShare(ctx)
		if err != nil {
			return figures, err
		}
		figures = append(figures, figure.HasGoal("processor of process 1, "+name, 100*share, "%", figure.AtMost(idleShare)))
	}
	return figures, nil
}

// idleShare probes like the kubelet: readiness once a second, and liveness every ten seconds.
func (a *alone) idleShare(ctx context.Context) (float64, error) {
	before, err := spent(a.PID())
	if err != nil {
		return 0, err
	}
	start := time.Now()
	for i := 0; time.Since(start) < idleWindow; i++ {
		if err := a.probe(ctx, instanceapi.Port, instanceapi.PathReady); err != nil {
			return 0, err
		}
		if i%10 == 0 {
			if err := a.probe(ctx, instanceapi.Port, instanceapi.PathLive); err != nil {
				return 0, err
			}
		}
		if err := pause(ctx, time.Until(start.Add(time.Duration(i+1)*time.Second))); err != nil {
			return 0, err
		}
	}
	after, err := spent(a.PID())
	return (after - before).Seconds() / time.Since(start).Seconds(), err
}

// fillSockets leaves n connections in TIME_WAIT, which remains on the side that closes first.
func (a *alone) fillSockets(ctx context.Context, n int) error {
	return a.Inside(func() error {
		for left := n; left > 0; {
			// Use several ports: each one has a limited number of client ports.
			listener, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				return err
			}
			for i := 0; i < 20_000 && left > 0; i++ {
				if err := closeFirst(ctx, listener); err != nil {
					return errors.Join(err, listener.Close())
				}
				left--
			}
			if err := listener.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

func closeFirst(ctx context.Context, listener net.Listener) error {
	var dialer net.Dialer
	client, err := dialer.DialContext(ctx, "tcp4", listener.Addr().String())
	if err != nil {
		return err
	}
	server, err := listener.Accept()
	if err != nil {
		return errors.Join(err, client.Close())
	}
	return errors.Join(client.Close(), server.Close())
}
