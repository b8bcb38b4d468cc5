package container

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// The directory of control groups, and the prefix of the containers' groups there. The process ID
// of the creator follows the prefix.
const (
	cgroupRoot   = "/sys/fs/cgroup"
	cgroupPrefix = "standin-container-"
)

// cgroupFiles holds the names of the files of a memory control group, in one of the two cgroup
// versions.
type cgroupFiles struct {
	// parent is the parent of the containers' groups, and mount is where a container finds its own
	// group.
	parent, mount string
	// limit and swap are written. events counts the processes that the kernel killed.
	limit, swap, usage, events string
}

var (
	cgroupV2 = cgroupFiles{cgroupRoot, cgroupRoot, "memory.max", "memory.swap.max", "memory.current", "memory.events"}
	cgroupV1 = cgroupFiles{cgroupRoot + "/memory", cgroupRoot + "/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"}
)

// cgroup is a memory control group, or nil for a container without a limit.
type cgroup struct {
	dir   string
	files cgroupFiles
}

var cgroups atomic.Int64

// newCgroup creates a control group that limits memory, including swap.
func newCgroup(limit int64) (*cgroup, error) {
	files := cgroupV1
	if _, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers")); err == nil {
		files = cgroupV2
	}
	removeAbandoned(files.parent)
	g := &cgroup{filepath.Join(files.parent, fmt.Sprintf("%s%d-%d", cgroupPrefix, os.Getpid(), cgroups.Add(1))), files}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("limit memory: %w", err)
	}
	if err := g.write(files.limit, limit); err != nil {
		return nil, errors.Join(fmt.Errorf("limit memory: %w", err), os.Remove(g.dir))
	}
	swap := limit
	if files == cgroupV2 {
		swap = 0
	}
	// Kernels without swap accounting do not have the file.
	if err := g.write(files.swap, swap); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("limit swap: %w", err), os.Remove(g.dir))
	}
	return g, nil
}

// removeAbandoned removes the groups of programs that were killed.
func removeAbandoned(parent string) {
	groups, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*")) // the pattern is valid
	for _, group := range groups {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(group), cgroupPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.Remove(group) // another program may have removed it already
		}
	}
}

func (g *cgroup) write(name string, value int64) error {
	file, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strconv.FormatInt(value, 10))
	return errors.Join(err, file.Close())
}

// join moves this process into the group. It is called before the process becomes the container.
func join(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644); err != nil {
		return fmt.Errorf("join the control group: %w", err)
	}
	return nil
}

// remove removes the group once its last process has ended, which may take the kernel a moment.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	const attempts, apart = 100, 20 * time.Millisecond
	for range attempts {
		if err := os.Remove(g.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		<-time.After(apart)
	}
}

// Memory returns how many bytes a limited container uses now, and how many of its processes the
// kernel has killed because they exceeded the limit.
func (c *Container) Memory() (used int64, killed int64, err error) {
	if c.cgroup == nil {
		return 0, 0, errors.New("the container has no limit")
	}
	text, err := os.ReadFile(filepath.Join(c.cgroup.dir, c.cgroup.files.usage))
	if err != nil {
		return 0, 0, err
	}
	used, err = strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, 0, err
	}
	text, err = os.ReadFile(filepath.Join(c.cgroup.dir, c.cgroup.files.events))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" {
			killed, err = strconv.ParseInt(value, 10, 64)
		}
	}
	return used, killed, err
}
