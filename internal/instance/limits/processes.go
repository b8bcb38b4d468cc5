package limits

import (
	"io/fs"
	"strconv"
)

// FreeProcesses returns how many more processes and threads the container may start. limited is
// false if there is no limit (https://docs.kernel.org/admin-guide/cgroup-v2.html, pids).
func FreeProcesses(cgroup fs.FS) (free int, limited bool) {
	for _, dir := range []string{"", "pids/"} {
		most, mostErr := strconv.Atoi(read(cgroup, dir+"pids.max"))
		now, nowErr := strconv.Atoi(read(cgroup, dir+"pids.current"))
		if mostErr == nil && nowErr == nil {
			return max(0, most-now), true
		}
	}
	return 0, false
}
