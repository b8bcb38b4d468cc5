package main

import (
	"os"
	"runtime/debug"

	"example.com/nginx-operator/internal/instance/limits"
)

// gcPercent is the heap growth in percent that triggers a garbage collection, unless GOGC is set.
// Nearly all of the heap is caches, which are never garbage: with Go's default of 100, as much
// memory again would stay resident.
const gcPercent = 50

// boundMemory sets gcPercent, and a memory limit from the container's limit unless GOMEMLIMIT is
// set.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if container := limits.ReadMemory(os.DirFS("/sys/fs/cgroup"), ""); container.Limited {
		debug.SetMemoryLimit(container.ForGo())
	}
}
