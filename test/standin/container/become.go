package container

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// argument makes a program that was started in new namespaces become a container.
const argument = "become-container"

// Become turns this process into a container if it was started as one. Programs that start
// containers call it before anything else.
func Become() {
	if len(os.Args) == 3 && os.Args[1] == argument {
		fmt.Fprintln(os.Stderr, become(os.Args[2]))
		os.Exit(1)
	}
}

// become does what a container runtime does under the restricted profile.
func become(text string) error {
	runtime.LockOSThread()
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	if err := join(s.Cgroup); err != nil {
		return err
	}
	if err := s.mount(); err != nil {
		return err
	}
	if err := network(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if err := unix.Chroot(s.Root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := drop(s.ids()); err != nil {
		return fmt.Errorf("drop privileges: %w", err)
	}
	environment := s.Environment
	if !slices.ContainsFunc(environment, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		environment = append(environment, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	}
	return unix.Exec(s.Command[0], s.Command, environment)
}

func (s *Spec) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount(s.Root, s.Root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	for _, m := range s.Mounts {
		to := filepath.Join(s.Root, m.To)
		if err := mountPoint(m.From, to); err != nil {
			return err
		}
		if err := unix.Mount(m.From, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", m.To, err)
		}
		if !m.ReadOnly {
			continue
		}
		if err := unix.Mount("", to, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("%s: %w", m.To, err)
		}
	}
	if err := unix.Mount("proc", filepath.Join(s.Root, "proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	return unix.Mount("", s.Root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// mountPoint creates a directory or file on which to mount another one, as runtimes do. It stays in
// the root file system, where it does no harm.
func mountPoint(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(to, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// network brings up the loopback interface and sets the pod's sysctl.
func network() error {
	sysctl := "/proc/sys/net/ipv4/ip_unprivileged_port_start"
	if err := os.WriteFile(sysctl, []byte("0"), 0o644); err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }() // nothing was written to it
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func drop(user, group int) error {
	for capability := range uintptr(unix.CAP_LAST_CAP + 1) {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Setgroups(nil); err != nil {
		return err
	}
	if err := unix.Setresgid(group, group, group); err != nil {
		return err
	}
	if err := unix.Setresuid(user, user, user); err != nil {
		return err
	}
	// A change of the user clears the parent-death signal, so set it again.
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}
