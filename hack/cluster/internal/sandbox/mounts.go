package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/hack/cluster/internal/state"
)

// kubeletSysctls are the values that the kubelet requires. They belong to the whole machine, so the
// cluster mounts files with these values instead of setting them: the kubelet reads them and writes
// nothing.
var kubeletSysctls = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// isolateMounts keeps all further mounts inside the cluster's mount namespace and mounts a /proc
// for its process IDs.
func isolateMounts(cluster state.Cluster) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	dir := filepath.Join(string(cluster), "sysctl")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, value := range kubeletSysctls {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		if err := bind(file, filepath.Join("/proc/sys", name)); err != nil {
			return err
		}
	}
	return nil
}

// mountNode gives a node its own folders where programs keep their state. It covers all of /var/lib
// and /var/log, so that no mount point has to be created on the machine.
func mountNode(cluster state.Cluster, node int) error {
	cache := filepath.Dir(string(cluster))
	handle, err := unix.Open(cache, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for _, target := range []string{"/var/lib", "/var/log"} {
		source := cluster.Node(node, target)
		if err := os.MkdirAll(source, 0o755); err != nil {
			return err
		}
		if err := bind(source, target); err != nil {
			return err
		}
	}
	for target, mode := range map[string]string{"/run": "mode=0755", "/tmp": "mode=1777"} {
		if err := unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, mode); err != nil {
			return fmt.Errorf("mounting %s: %w", target, err)
		}
	}
	if err := keepVisible(cache, handle); err != nil {
		return err
	}
	if err := bind(cluster.Node(node, "hosts"), "/etc/hosts"); err != nil {
		return err
	}
	// Containers may request mount propagation, as on a machine with systemd.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("sharing the node's mounts: %w", err)
	}
	return unix.Close(handle)
}

// keepVisible mounts the cache at its path again if one of the mounts above covers it: programs and
// configuration are found by their paths.
func keepVisible(cache string, handle int) error {
	var before, now unix.Stat_t
	if err := unix.Fstat(handle, &before); err != nil {
		return err
	}
	err := unix.Stat(cache, &now)
	if err == nil && before.Ino == now.Ino && before.Dev == now.Dev {
		return nil
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	return bind(fmt.Sprintf("/proc/self/fd/%d", handle), cache)
}

func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s over %s: %w", source, target, err)
	}
	return nil
}
