// Package budget compares what a configuration needs with what the container has left, and refuses a configuration that
// does not fit before it gets the container killed. It does no I/O.
//
// While nginx loads a configuration, its master process holds the old and the new one, and the old worker processes
// finish their connections beside the new ones. The memory of the new configuration in the master and of all new
// workers must therefore be free. The memory that requests will need is unknown.
package budget

import (
	"fmt"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instanceapi"
)

// Minimum cost in bytes of each connection, thread and worker process, including kernel memory, for nginx 1.22 to 1.30
// on 64-bit machines.
const (
	connectionMemory = 400 // ngx_connection_t and two ngx_event_t, which nginx initializes at startup
	threadMemory     = 20 << 10
	workerMemory     = 256 << 10
	processKernel    = 40 << 10
)

// leastClients is the minimum of connections and descriptors that a worker must have left. A single
// browser opens six connections.
const leastClients = 8

// helpers is the number of processes beside the workers: the cache manager, the cache loader, and those of a test.
const helpers = 4

// reservePercent is the share of the memory limit that stays free for requests, and leastReserve its minimum in bytes.
const (
	reservePercent = 6
	leastReserve   = 3 << 20
)

// Room is what the container has left.
type Room struct {
	// Free and Limit are in bytes. If Limited is false, Limit is the memory of the machine.
	Free, Limit int64
	Limited     bool
	// Processes is how many more processes and threads may start. It is negative if there is no limit.
	Processes int
}

// Foresee returns the problems of a configuration that cannot fit according to its directives alone.
func Foresee(d assemble.Demand, room Room) []instanceapi.Problem {
	worker := int64(d.Connections)*connectionMemory + int64(d.Threads)*threadMemory + workerMemory
	return check(d, instanceapi.Usage{Worker: worker, Threads: d.Threads + 1}, room)
}

// Check returns the problems of a configuration whose workers do not fit, based on what one worker used in a dry run.
func Check(d assemble.Demand, measured instanceapi.Usage, room Room) []instanceapi.Problem {
	measured.Worker += int64(max(1, measured.Threads)) * processKernel
	if message := checkClientCapacity(d, measured); message != "" {
		return []instanceapi.Problem{{Message: message}}
	}
	return check(d, measured, room)
}

// checkClientCapacity returns why a worker can hardly accept a client, or "" if it can. Each listening socket takes one of the
// worker's connections, and each client takes a connection and a descriptor.
func checkClientCapacity(d assemble.Demand, one instanceapi.Usage) string {
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

func check(d assemble.Demand, one instanceapi.Usage, room Room) []instanceapi.Problem {
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
	return problem(d, fmt.Sprintf("out of memory: %s about %s in addition to the current ones, more than is left of the container's limit of %d MiB: %s, or raise resources.limits.memory",
		workersText(workers), mebibytes(need), room.Limit>>20, remedy))
}

// Reserve returns the memory in bytes that a load must leave free.
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

// mebibytes rounds up to two significant digits, so that small changes in memory do not change a message.
func mebibytes(bytes int64) string {
	n := (bytes + 1<<20 - 1) >> 20
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return fmt.Sprintf("%d MiB", (n+unit-1)/unit*unit)
}
