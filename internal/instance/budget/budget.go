// Package budget compares what a configuration needs with what the container has left, so
// that a configuration that cannot fit is refused before it ends the container. It is pure.
//
// While nginx loads a configuration, its master process holds the old and the new one, and
// the old worker processes finish their connections beside the new ones. So the new master's
// and all new workers' memory has to be free. What requests will need is not known.
package budget

import (
	"fmt"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instanceapi"
)

// What is known of nginx 1.22 to 1.30 on 64-bit machines, in bytes: the least that each
// connection, thread and worker process costs, with what the kernel needs for it.
const (
	connectionMemory = 400 // ngx_connection_t and two ngx_event_t, which nginx writes to at the start
	threadMemory     = 20 << 10
	workerMemory     = 256 << 10
	processKernel    = 40 << 10
)

// leastClients is how many connections and descriptors a worker must have left: a browser alone opens six.
const leastClients = 8

// helpers are the processes beside the workers: the cache manager, the cache loader, and
// those of a test.
const helpers = 4

// reserve is the part of the limit that stays free for requests, in percent, and its least.
const (
	reservePercent = 6
	leastReserve   = 3 << 20
)

// Room is what the container has left.
type Room struct {
	// Free and Limit are bytes of memory. Limit is the machine's where Limited is false.
	Free, Limit int64
	Limited     bool
	// Processes is how many more processes and threads may start; negative: no bound.
	Processes int
}

// Usage is what one worker process and the master process of a dry run took.
type Usage struct {
	Master, Worker int64
	// Threads of a worker, the process itself included.
	Threads int
	// Sockets and Open are how many sockets and files, sockets included, a worker has open before its first client,
	// and MaxOpen how many files it may open; 0: unknown, or no bound.
	Sockets, Open, MaxOpen int
}

// Foresee refuses a configuration whose directives alone tell that it cannot fit.
func Foresee(d assemble.Demand, room Room) []instanceapi.Problem {
	worker := int64(d.Connections)*connectionMemory + int64(d.Threads)*threadMemory + workerMemory
	return check(d, Usage{Worker: worker, Threads: d.Threads + 1}, room)
}

// Check refuses a configuration whose workers do not fit, by what one of them took.
func Check(d assemble.Demand, measured Usage, room Room) []instanceapi.Problem {
	measured.Worker += int64(max(1, measured.Threads)) * processKernel
	if message := full(d, measured); message != "" {
		return []instanceapi.Problem{{Message: message}}
	}
	return check(d, measured, room)
}

// full tells that a worker can hardly take a client; empty: it can. Each socket that it listens on takes one of its
// connections, and each client takes one and a descriptor.
func full(d assemble.Demand, one Usage) string {
	switch {
	case one.Sockets > 0 && d.Connections-one.Sockets < leastClients:
		return fmt.Sprintf("worker_connections is %d, and the sockets that each worker process listens on take %d of them: raise worker_connections, or listen on fewer ports",
			d.Connections, one.Sockets)
	case one.MaxOpen > 0 && one.MaxOpen-one.Open < leastClients:
		return fmt.Sprintf("out of file descriptors: each worker process may open %d files and sockets, and has %d open before the first client comes: raise or remove worker_rlimit_nofile, or listen on fewer ports",
			one.MaxOpen, one.Open)
	}
	return ""
}

func check(d assemble.Demand, one Usage, room Room) []instanceapi.Problem {
	workers := max(1, d.Workers)
	if processes := workers*one.Threads + helpers; room.Processes >= 0 && processes > room.Processes {
		return problem(d, fmt.Sprintf("%s %d processes and threads, and the container may start %d more (the kubelet's podPidsLimit): lower worker_processes or the threads of thread_pool",
			workersText(workers), processes, room.Processes))
	}
	need := one.Master + int64(workers)*one.Worker
	if need+Reserve(room) <= room.Free {
		return nil
	}
	remedy := "lower worker_processes, worker_connections or the threads of thread_pool"
	if !room.Limited {
		return problem(d, fmt.Sprintf("%s about %s of memory, more than the node has available: %s", workersText(workers), mebibytes(need), remedy))
	}
	return problem(d, fmt.Sprintf("out of memory: %s about %s beside those that serve now, more than the container's limit of %d MiB leaves: %s, or raise resources.limits.memory",
		workersText(workers), mebibytes(need), room.Limit>>20, remedy))
}

// Reserve is the memory that a load has to leave free, in bytes.
func Reserve(room Room) int64 {
	if !room.Limited {
		return leastReserve
	}
	return max(leastReserve, room.Limit/100*reservePercent)
}

func problem(d assemble.Demand, message string) []instanceapi.Problem {
	if d.Directive != "" {
		message = d.Directive + ": " + message
	}
	return []instanceapi.Problem{{File: d.File, Line: d.Line, Message: message}}
}

func workersText(n int) string {
	if n == 1 {
		return "1 worker process needs"
	}
	return fmt.Sprintf("%d worker processes need", n)
}

// mebibytes rounds up to two significant digits, so that small changes do not change a message.
func mebibytes(bytes int64) string {
	n := (bytes + 1<<20 - 1) >> 20
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return fmt.Sprintf("%d MiB", (n+unit-1)/unit*unit)
}
