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

// memoryShare is how many percent of its container's memory the program may use before Go
// collects garbage however little there is, where the environment says nothing (GOMEMLIMIT).
// The rest is what Go does not count, such as the program's own text.
const memoryShare = 80

// boundMemory lets Go know what there is.
func boundMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit := memoryLimit(limits.ReadMemory(os.DirFS("/sys/fs/cgroup"), "")); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit is what the program may use, in bytes; 0: as much as there is.
func memoryLimit(container limits.Memory) int64 {
	if !container.Limited {
		return 0
	}
	return container.Limit / 100 * memoryShare
}
