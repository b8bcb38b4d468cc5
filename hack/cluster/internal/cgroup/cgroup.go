// Package cgroup keeps the cluster's processes in cgroups of their own, below one folder that can
// be removed as a whole.
//
// It treats every mounted hierarchy in the same way, and so works on cgroup v1, v2 and a hybrid of
// both. The members of the cgroups are also the tool's only record of what runs: unlike a file with
// process IDs, they cannot be out of date.
package cgroup

import (
	"bufio"
	"bytes"
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

// Root is the folder of the whole cluster, relative to each hierarchy.
const Root = "nginx-operator-cluster"

// Path returns a cgroup below Root: System for the components, a node's name for its pods.
func Path(name string) string { return Root + "/" + name }

// ComponentsCgroup is the cgroup of everything that is not a pod.
const ComponentsCgroup = "system"

// hierarchies lists the mount points of all cgroup file systems.
func hierarchies() ([]string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	found := parseMounts(mounts)
	if len(found) == 0 {
		return nil, errors.New("no cgroup file system is mounted")
	}
	return found, nil
}

func parseMounts(mounts []byte) []string {
	var found []string
	lines := bufio.NewScanner(bytes.NewReader(mounts))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 2 && (fields[2] == "cgroup" || fields[2] == "cgroup2") && !slices.Contains(found, fields[1]) {
			found = append(found, fields[1])
		}
	}
	return found
}

// Create creates the cgroup with a name in every hierarchy.
func Create(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		parent := root
		for part := range strings.SplitSeq(Path(name), "/") {
			dir := filepath.Join(parent, part)
			if err := create(parent, dir); err != nil {
				return fmt.Errorf("creating cgroup %s: %w", dir, err)
			}
			parent = dir
		}
	}
	return nil
}

func create(parent, dir string) error {
	if err := delegate(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// A v1 cpuset is initially empty, and an empty one accepts no process.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if err := inherit(parent, dir, file); err != nil {
			return err
		}
	}
	return nil
}

// delegate enables all controllers of a v2 cgroup for its children.
func delegate(dir string) error {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // v1 has no such file and does not need this step
	}
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(controllers)) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return err
		}
	}
	return nil
}

func inherit(parent, dir, file string) error {
	if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
		return nil // v2 inherits automatically
	}
	value, err := os.ReadFile(filepath.Join(parent, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, file), value, 0)
}

// Add moves a process into the cgroup with a name.
func Add(name string, pid int) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		procs := filepath.Join(root, Path(name), "cgroup.procs")
		if err := os.WriteFile(procs, []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("adding process %d to a cgroup: %w", pid, err)
		}
	}
	return nil
}

// Processes lists the process IDs in the cgroup with a name and below it. An empty name means the
// whole cluster.
func Processes(name string) ([]int, error) {
	var pids []int
	err := walk(name, func(dir string) error {
		content, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return err
		}
		for field := range strings.FieldsSeq(string(content)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				return fmt.Errorf("%s: %w", dir, err)
			}
			pids = append(pids, pid)
		}
		return nil
	})
	slices.Sort(pids)
	return slices.Compact(pids), err
}

// RemoveAll removes all cgroups of the cluster, deepest first. The kernel frees a cgroup shortly after
// its last process, so Remove retries for a while.
func RemoveAll() error {
	var err error
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var dirs []string
		if err = walk("", func(dir string) error { dirs = append(dirs, dir); return nil }); err != nil {
			return err
		}
		slices.Reverse(dirs)
		for _, dir := range dirs {
			err = errors.Join(err, os.Remove(dir))
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("removing cgroups: %w", err)
}

// walk visits the cgroup with a name and those below it, parents first. It skips cgroups that
// disappear meanwhile, since their processes have ended.
func walk(name string, visit func(dir string) error) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		err := filepath.WalkDir(filepath.Join(root, Path(name)), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				err = visit(path)
			}
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
