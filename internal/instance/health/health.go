// Package health completes what the supervisor knows by what the kernel tells: the
// worker processes, the ports, and from both whether the pod is ready.
package health

import (
	"fmt"
	"sync"
	"time"

	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/supervise"
	"example.com/nginx-operator/internal/instanceapi"
)

// freshness is how long a look at /proc is good for: probes and scrapes come in numbers.
const freshness = time.Second

// Doctor examines one instance.
type Doctor struct {
	// Snapshot asks the supervisor.
	Snapshot func() *supervise.Snapshot
	Proc     proc.FS
	Version  string

	mu   sync.Mutex
	seen vitals
}

// vitals are what /proc told, for a snapshot.
type vitals struct {
	at       time.Time
	snapshot *supervise.Snapshot
	workers  proc.Workers
	sockets  map[proc.Socket]bool
}

// Checkup is everything that is known.
type Checkup struct {
	instanceapi.Status
	*supervise.Snapshot
	Processes proc.Workers
}

// Examine looks at the instance.
func (d *Doctor) Examine() Checkup {
	v := d.vitals()
	status := v.snapshot.Status
	status.Version = d.Version
	status.Workers.Running, status.Workers.Exiting = len(v.workers.Running), len(v.workers.Exiting)
	if status.Serving != "" {
		seconds := int64(time.Since(v.snapshot.ServingSince) / time.Second)
		status.ServingSeconds = &seconds
	}
	ports := make([]instanceapi.DeclaredPort, len(status.Ports))
	for i, port := range status.Ports {
		port.Listening = v.snapshot.Master != 0 && v.sockets[proc.Socket{Protocol: port.Protocol, Port: int(port.Port)}]
		ports[i] = port
	}
	status.Ports = ports
	status.NotReady = notReady(v.snapshot, ports)
	status.Ready = status.NotReady == ""
	return Checkup{Status: status, Snapshot: v.snapshot, Processes: v.workers}
}

func (d *Doctor) vitals() vitals {
	d.mu.Lock()
	defer d.mu.Unlock()
	snapshot, now := d.Snapshot(), time.Now()
	if d.seen.snapshot == snapshot && now.Sub(d.seen.at) < freshness {
		return d.seen
	}
	d.seen = vitals{at: now, snapshot: snapshot, sockets: d.Proc.Listening()}
	if snapshot.Master != 0 {
		d.seen.workers = d.Proc.Workers(snapshot.Master)
	}
	return d.seen
}

// notReady is why the pod must not get traffic. A pod that drains still serves until
// nginx is told to end: its endpoint is taken away meanwhile.
func notReady(s *supervise.Snapshot, ports []instanceapi.DeclaredPort) string {
	switch {
	case s.Quitting:
		return "nginx is ending"
	case s.Status.Serving == "":
		return s.Waiting
	}
	for _, port := range ports {
		if !port.Listening {
			return fmt.Sprintf("nginx does not listen on port %s (%d/%s)", port.Name, port.Port, port.Protocol)
		}
	}
	return ""
}
