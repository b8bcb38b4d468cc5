package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/hack/cluster/internal/cgroup"
	"example.com/nginx-operator/hack/cluster/internal/state"
)

// NsenterCommand returns the command line that runs a command in the namespaces of a process. The process ID
// is one in the caller's namespace. A caller outside of the cluster also has to enter the process
// namespace, which costs a fork.
func NsenterCommand(pid int, outside bool, command ...string) []string {
	enter := []string{"nsenter", "--target", strconv.Itoa(pid), "--mount", "--uts", "--ipc", "--net"}
	if outside {
		enter = append(enter, "--pid")
	}
	return append(append(enter, "--"), command...)
}

// ErrNotRunning means that there is no cluster.
var ErrNotRunning = errors.New("the cluster is not running")

// CheckRunning returns nil if this cluster runs. Cgroups belong to the machine, so there can be only one
// cluster, which may belong to another cache.
func CheckRunning(cluster state.Cluster) error {
	pid, err := MachinePID(1)
	if err != nil {
		return err
	}
	arguments, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return err
	}
	if other := strings.Split(string(arguments), "\x00"); len(other) > 2 && other[2] != string(cluster) {
		return fmt.Errorf("another cluster is running, in %s: stop it first (with NGINX_OPERATOR_CACHE=%s)",
			other[2], filepath.Dir(other[2]))
	}
	return nil
}

// MachinePID translates a process ID of the cluster to the machine's. Process 1 exists exactly as
// long as the cluster.
func MachinePID(pid int) (int, error) {
	members, err := cgroup.Processes(cgroup.ComponentsCgroup)
	if err != nil {
		return 0, err
	}
	for _, member := range members {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(member), "status"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the process has just ended
		}
		if err != nil {
			return 0, err
		}
		if innermostPID(status) == pid {
			return member, nil
		}
	}
	return 0, ErrNotRunning
}

// innermostPID returns a process's ID in its own namespace: the last one of the NSpid line, or 0
// for a process that is only in the machine's namespace.
func innermostPID(status []byte) int {
	lines := bufio.NewScanner(bytes.NewReader(status))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 2 && fields[0] == "NSpid:" {
			pid, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil {
				return 0
			}
			return pid
		}
	}
	return 0
}

// Stop ends the cluster, gracefully within the given time or else by killing process 1. It returns
// when no process is left.
func Stop(grace time.Duration) error {
	if err := signalInit(unix.SIGTERM); err != nil {
		return err
	}
	if gone, err := waitUntilGone(grace); gone || err != nil {
		return err
	}
	if err := signalInit(unix.SIGKILL); err != nil {
		return err
	}
	gone, err := waitUntilGone(30 * time.Second)
	if err != nil || gone {
		return err
	}
	left, err := cgroup.Processes("")
	return errors.Join(fmt.Errorf("processes %v did not end", left), err)
}

func signalInit(signal unix.Signal) error {
	pid, err := MachinePID(1)
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := unix.Kill(pid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("ending the cluster's process 1: %w", err)
	}
	return nil
}

func waitUntilGone(patience time.Duration) (bool, error) {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left, err := cgroup.Processes("")
		if err != nil || len(left) == 0 {
			return err == nil, err
		}
		if time.Now().After(deadline) {
			return false, nil
		}
	}
}
