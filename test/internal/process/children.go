package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MachineTime returns the processor time that the whole machine has used since it started, and the
// number of its processors.
func MachineTime() (used time.Duration, processors int, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	return parseMachine(string(text))
}

// parseMachine reads the cpu lines of /proc/stat
// (https://man7.org/linux/man-pages/man5/proc_stat.5.html).
func parseMachine(text string) (used time.Duration, processors int, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu"):
			continue
		case fields[0] != "cpu":
			processors++
			continue
		}
		for i, field := range fields[1:] {
			// Skip idle and iowait. The time of guests is already part of user and nice.
			if slices.Contains([]int{3, 4, 8, 9}, i) {
				continue
			}
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("/proc/stat: %w", err)
			}
			used += time.Duration(ticks) * tick
		}
	}
	if processors == 0 {
		return 0, 0, errors.New("/proc/stat contains no processor")
	}
	return used, processors, nil
}

// tick is the unit of processor time in /proc. It is USER_HZ, which is the same on every
// architecture that Go runs on.
const tick = time.Second / 100

// ControlPlaneTime returns the processor time that the API server and etcd, children of this
// process, have used so far. Unlike speed, it hardly depends on other load on the machine.
func ControlPlaneTime() (time.Duration, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	found := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			// The process has ended since the listing.
			continue
		}
		if err != nil {
			return 0, err
		}
		stat, err := parseStat(string(text))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		if stat.parent == os.Getpid() && slices.Contains([]string{"kube-apiserver", "etcd"}, stat.name) {
			sum += stat.used
			found++
		}
	}
	if found == 0 {
		return 0, errors.New("no API server runs as a child of this process")
	}
	return sum, nil
}

type stat struct {
	name   string
	parent int
	used   time.Duration
}

// parseStat reads the text of /proc/PID/stat
// (https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
func parseStat(text string) (stat, error) {
	// The name is in parentheses and may contain any character, including parentheses.
	start, end := strings.Index(text, "("), strings.LastIndex(text, ")")
	if start < 0 || end < start {
		return stat{}, errors.New("it has no name")
	}
	// The fields after the name start with the state, which is field 3.
	fields := strings.Fields(text[end+1:])
	const parent, user, system = 4 - 3, 14 - 3, 15 - 3
	if len(fields) <= system {
		return stat{}, errors.New("it has too few fields")
	}
	s := stat{name: text[start+1 : end]}
	var err error
	if s.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return s, err
	}
	for _, field := range []int{user, system} {
		ticks, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return s, err
		}
		s.used += time.Duration(ticks) * tick
	}
	return s, nil
}
