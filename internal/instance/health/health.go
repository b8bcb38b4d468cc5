// Package health completes the supervisor's state with information from the kernel about worker
// processes and ports, and derives from both whether the pod is ready.
package health

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/supervise"
	"example.com/nginx-operator/internal/instanceapi"
)

// freshness is how long an answer of the kernel is reused: probes and scrapes are frequent.
const freshness = time.Second

// Sockets lists the listening sockets of the given protocols.
type Sockets interface {
	Listening(protocols ...string) map[proc.Socket]bool
}

// Doctor examines an instance.
type Doctor struct {
	// Snapshot returns the supervisor's state.
	Snapshot func() *supervise.Snapshot
	Sockets  Sockets
	// Failing returns why the checks keep the pod from being ready; empty: they do not.
	Failing func() string
	Proc    proc.FS
	Version string

	mu        sync.Mutex
	listening cached[map[proc.Socket]bool]
	workers   cached[proc.Workers]
}

// cached is an answer of the kernel for a snapshot.
type cached[T any] struct {
	at       time.Time
	snapshot *supervise.Snapshot
	answer   T
}

// fresh returns the answer, and refreshes it if it is old or for another snapshot.
func (s *cached[T]) fresh(snapshot *supervise.Snapshot, compute func() T) T {
	if now := time.Now(); s.snapshot != snapshot || now.Sub(s.at) >= freshness {
		*s = cached[T]{at: now, snapshot: snapshot, answer: compute()}
	}
	return s.answer
}

// Checkup is everything that is known about the instance.
type Checkup struct {
	instanceapi.Status
	*supervise.Snapshot
	Processes proc.Workers
}

// Examine returns the current state of the instance.
func (d *Doctor) Examine() Checkup {
	d.mu.Lock()
	defer d.mu.Unlock()
	snapshot := d.Snapshot()
	workers := d.workers.fresh(snapshot, func() (w proc.Workers) {
		if snapshot.Master != 0 {
			w = d.Proc.Workers(snapshot.Master)
		}
		return w
	})
	status := snapshot.Status
	status.Version = d.Version
	status.Workers.Running, status.Workers.Exiting = len(workers.Running), len(workers.Exiting)
	if status.Serving != "" {
		seconds := int64(time.Since(snapshot.ServingSince) / time.Second)
		status.ServingSeconds = &seconds
	}
	if status.Requested != (instanceapi.Requested{}) {
		status.RequestedSeconds = new(int64(time.Since(snapshot.RequestedSince) / time.Second))
	}
	status.Ports = d.ports(snapshot)
	status.NotReady = d.notReadyReason(snapshot, status.Ports)
	status.Ready = status.NotReady == ""
	return Checkup{Status: status, Snapshot: snapshot, Processes: workers}
}

// NotReadyReason returns why the pod must not receive traffic; empty if it may. It does not read the
// process table, because a probe comes every second.
func (d *Doctor) NotReadyReason() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	snapshot := d.Snapshot()
	return d.notReadyReason(snapshot, d.ports(snapshot))
}

// ports returns the declared ports, and whether nginx listens on them.
func (d *Doctor) ports(snapshot *supervise.Snapshot) []instanceapi.DeclaredPort {
	var protocols []string
	for _, port := range snapshot.Status.Ports {
		if !slices.Contains(protocols, port.Protocol) {
			protocols = append(protocols, port.Protocol)
		}
	}
	listening := d.listening.fresh(snapshot, func() map[proc.Socket]bool { return d.Sockets.Listening(protocols...) })
	ports := slices.Clone(snapshot.Status.Ports)
	for i := range ports {
		ports[i].Listening = snapshot.Master != 0 && listening[proc.Socket{Protocol: ports[i].Protocol, Port: int(ports[i].Port)}]
	}
	return ports
}

// notReadyReason returns why the pod must not receive traffic. A draining pod serves until nginx is
// signaled to end: meanwhile, its endpoint is removed.
func (d *Doctor) notReadyReason(s *supervise.Snapshot, ports []instanceapi.DeclaredPort) string {
	switch {
	case s.Quitting:
		return "nginx is shutting down"
	case s.Status.Serving == "":
		return s.Waiting
	}
	for _, port := range ports {
		if !port.Listening {
			return fmt.Sprintf("nginx does not listen on port %s (%d/%s)", port.Name, port.Port, port.Protocol)
		}
	}
	return d.Failing()
}
