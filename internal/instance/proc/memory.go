package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Usage is the memory and the threads of a process.
type Usage struct {
	// Private is the memory in bytes that it shares with no other process, including its page
	// tables. Anonymous also includes the memory that it shares with the process that it was forked
	// from.
	Private, Anonymous int64
	Threads            int
}

// Usage reads /proc/PID/smaps_rollup and status
// (https://docs.kernel.org/filesystems/proc.html).
func (f FS) Usage(pid int) (Usage, bool) {
	dir := filepath.Join(string(f), strconv.Itoa(pid))
	memory, memoryErr := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
	status, statusErr := os.ReadFile(filepath.Join(dir, "status"))
	if memoryErr != nil || statusErr != nil {
		return Usage{}, false
	}
	kib := func(text []byte, name string) int64 { return numberField(string(text), name) << 10 }
	tables := kib(status, "VmPTE:")
	return Usage{
		Private:   kib(memory, "Private_Dirty:") + tables,
		Anonymous: kib(memory, "Anonymous:") + tables,
		Threads:   int(numberField(string(status), "Threads:")),
	}, true
}

// numberField returns the number after a name at the beginning of a line, or 0 if there is none.
func numberField(text, name string) int64 {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != name {
			continue
		}
		if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
			return n
		}
	}
	return 0
}

// EndFirst makes the kernel kill a process before others if memory runs out. It is for workers:
// nginx restarts them, but the end of its master process or of this program ends the container.
func (f FS) EndFirst(pid int) {
	// Some sandboxes do not have the file, and the process may have ended.
	_ = os.WriteFile(filepath.Join(string(f), strconv.Itoa(pid), "oom_score_adj"), []byte("1000"), 0o600)
}
