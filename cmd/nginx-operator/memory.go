package main

import (
	"os"
	"runtime/debug"

	"example.com/nginx-operator/internal/instance/limits"
)

// gcPercent is by how many percent the heap grows before garbage is collected, where the
// environment says nothing (GOGC). Nearly all of the heap is caches, which are never garbage:
// Go's own 100 would have as much again resident beside them.
const gcPercent = 50

// boundMemory lets Go know what there is, where the environment says nothing (GOMEMLIMIT).
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
