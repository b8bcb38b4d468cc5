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

// tick is the unit of processor time in /proc: USER_HZ, which is the same on every
// architecture that Go runs on.
const tick = time.Second / 100

// ControlPlaneTime is the processor time that the API server and etcd use while do
// runs. They are children of this process. Unlike speed, it hardly depends on what
// else the machine is doing.
func ControlPlaneTime(do func() error) (time.Duration, error) {
	before, err := controlPlaneTime()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := controlPlaneTime()
	return after - before, err
}

func controlPlaneTime() (time.Duration, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	found := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			// It ended meanwhile.
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

// parseStat reads https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html.
func parseStat(text string) (stat, error) {
	// The name is in parentheses and may hold any character, parentheses included.
	start, end := strings.Index(text, "("), strings.LastIndex(text, ")")
	if start < 0 || end < start {
		return stat{}, errors.New("it has no name")
	}
	// The fields after the name: state is the first, that is field 3.
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
