package limits

import (
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// cgroup returns a file system with the files.
func cgroup(files map[string]string) fs.FS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return fsys
}

func TestWorkers(t *testing.T) {
	unlimited := min(runtime.NumCPU(), maxWorkersWithoutLimit)
	tests := map[string]struct {
		files map[string]string
		want  int
	}{
		"one and a half":            {map[string]string{"cpu.max": "150000 100000"}, 2},
		"two":                       {map[string]string{"cpu.max": "200000 100000"}, 2},
		"a tenth":                   {map[string]string{"cpu.max": "10000 100000"}, 1},
		"more than the machine has": {map[string]string{"cpu.max": "6400000 100000"}, 64},
		"no limit":                  {map[string]string{"cpu.max": "max 100000"}, unlimited},
		"version 1":                 {map[string]string{"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"}, 3},
		"version 1, no limit":       {map[string]string{"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, unlimited},
		"no control groups":         {nil, unlimited},
		"nonsense":                  {map[string]string{"cpu.max": "many of them"}, unlimited},
		"a period of nothing":       {map[string]string{"cpu.max": "100000 0"}, unlimited},
	}
	for name, tt := range tests {
		if got := Workers(cgroup(tt.files)); got != tt.want {
			t.Errorf("%s: %d workers, want %d", name, got, tt.want)
		}
	}
}

func TestReadMemory(t *testing.T) {
	const meminfo = "MemTotal:       2048 kB\nMemFree:        1024 kB\nMemAvailable:   1536 kB\n"
	tests := map[string]struct {
		files map[string]string
		want  Memory
	}{
		"limited": {map[string]string{
			"memory.max": "1000", "memory.current": "600", "memory.stat": "anon 500\ninactive_file 80\nactive_file 20",
		}, Memory{Limit: 1000, Free: 480, Limited: true}},
		"used up": {map[string]string{
			"memory.max": "1000", "memory.current": "1001", "memory.stat": "anon 1001",
		}, Memory{Limit: 1000, Limited: true}},
		"no limit": {map[string]string{"memory.max": "max", "memory.current": "600"}, Memory{Limit: 2 << 20, Free: 1536 << 10}},
		"version 1": {map[string]string{
			"memory/memory.limit_in_bytes": "1000", "memory/memory.usage_in_bytes": "600", "memory/memory.stat": "inactive_file 1\ntotal_inactive_file 50",
		}, Memory{Limit: 1000, Free: 450, Limited: true}},
		"version 1, no limit": {map[string]string{
			"memory/memory.limit_in_bytes": "9223372036854771712", "memory/memory.usage_in_bytes": "600",
		}, Memory{Limit: 2 << 20, Free: 1536 << 10}},
		"no control groups": {nil, Memory{Limit: 2 << 20, Free: 1536 << 10}},
	}
	for name, tt := range tests {
		if got := ReadMemory(cgroup(tt.files), meminfo); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if got := ReadMemory(cgroup(nil), strings.Replace(meminfo, "2048", "?", 1)); got != (Memory{Free: 1536 << 10}) {
		t.Errorf("of nonsense: %+v", got)
	}
}

func TestForGo(t *testing.T) {
	if got := (Memory{Limit: 512 << 20, Limited: true}).ForGo() >> 20; got != 409 {
		t.Errorf("of 512 MiB, a program in Go gets %d MiB", got)
	}
}

func TestFreeProcesses(t *testing.T) {
	tests := map[string]struct {
		files   map[string]string
		free    int
		limited bool
	}{
		"version 2":        {map[string]string{"pids.max": "100", "pids.current": "30"}, 70, true},
		"version 1":        {map[string]string{"pids/pids.max": "100", "pids/pids.current": "130"}, 0, true},
		"no limit":         {map[string]string{"pids.max": "max", "pids.current": "30"}, 0, false},
		"no control group": {nil, 0, false},
	}
	for name, tt := range tests {
		if free, limited := FreeProcesses(cgroup(tt.files)); free != tt.free || limited != tt.limited {
			t.Errorf("%s: %d, %t", name, free, limited)
		}
	}
}
