// Package limits reads what the container may use from its control groups, version 1 or 2.
package limits

import (
	"io/fs"
	"math"
	"runtime"
	"strconv"
	"strings"
)

// maxWorkersWithoutLimit bounds the workers of a container without a limit: on a large node, a
// worker for each CPU would cost memory that was not requested.
const maxWorkersWithoutLimit = 8

// Workers returns the number of nginx's worker processes: the CPUs that the container may use,
// rounded up. `worker_processes auto` would use the number of the node's CPUs.
func Workers(cgroup fs.FS) int {
	if quota, ok := cpus(cgroup); ok {
		return max(1, int(math.Ceil(quota)))
	}
	return min(runtime.NumCPU(), maxWorkersWithoutLimit)
}

// cpus returns the CPU quota. Version 2 has it as "max 100000" or "150000 100000".
func cpus(cgroup fs.FS) (float64, bool) {
	var quota, period string
	if fields := strings.Fields(read(cgroup, "cpu.max")); len(fields) == 2 {
		quota, period = fields[0], fields[1]
	} else {
		quota, period = read(cgroup, "cpu/cpu.cfs_quota_us"), read(cgroup, "cpu/cpu.cfs_period_us")
	}
	q, qErr := strconv.ParseFloat(quota, 64)
	p, pErr := strconv.ParseFloat(period, 64)
	if qErr != nil || pErr != nil || q <= 0 || p <= 0 {
		return 0, false
	}
	return q / p, true
}

// Memory is the memory that the container may use, in bytes.
type Memory struct {
	// Limit is the container's limit, or the memory of the machine.
	Limit int64
	// Free is how much of the limit is left, or how much memory the machine has available. File
	// cache that the kernel can reclaim counts as free.
	Free int64
	// Limited reports whether there is a limit.
	Limited bool
}

// goShare is the percentage of its container's memory that a Go program may use before it collects
// garbage at all cost. The rest is for memory that the Go runtime does not count, such as the
// program's code.
const goShare = 80

// ForGo returns the memory limit, in bytes, for a Go program that may use all of the container
// (https://pkg.go.dev/runtime/debug#SetMemoryLimit).
func (m Memory) ForGo() int64 { return m.Limit / 100 * goShare }

// ReadMemory reads the memory limit. meminfo is the content of /proc/meminfo, for a container
// without one.
func ReadMemory(cgroup fs.FS, meminfo string) Memory {
	for _, v := range []struct{ limit, usage, stat, reclaimable string }{
		{"memory.max", "memory.current", "memory.stat", "inactive_file"},
		{"memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"},
	} {
		limit, limitErr := strconv.ParseInt(read(cgroup, v.limit), 10, 64)
		usage, usageErr := strconv.ParseInt(read(cgroup, v.usage), 10, 64)
		// In version 1, the largest multiple of a page means "no limit".
		if limitErr != nil || usageErr != nil || limit >= math.MaxInt64/2 {
			continue
		}
		return Memory{Limit: limit, Free: max(0, limit-usage+stat(read(cgroup, v.stat), v.reclaimable)), Limited: true}
	}
	return Memory{Limit: stat(meminfo, "MemTotal:") << 10, Free: stat(meminfo, "MemAvailable:") << 10}
}

func stat(text, name string) int64 {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == name {
			value, err := strconv.ParseInt(fields[1], 10, 64)
			if err == nil {
				return value
			}
		}
	}
	return 0
}

// read returns "" for a missing file: the other version is in use, or there is no limit.
func read(cgroup fs.FS, name string) string {
	text, err := fs.ReadFile(cgroup, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
