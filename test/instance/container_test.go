//go:build instance

package instance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"example.com/nginx-operator/internal/instanceapi"
)

// containerInit makes the test binary, started in new namespaces, the container.
const containerInit = "container-init"

// user is the one of nginx in most images.
const user = 101

// Where a pod mounts things.
const (
	volumes        = "/etc/nginx-operator"
	terminationLog = "/dev/termination-log"
	program        = instanceapi.DirBin + "/" + instanceapi.Program
)

// scratch is all that can be written to. As in a pod, it outlives the container.
var scratch = []string{"/tmp", "/run", "/var/cache/nginx", "/var/lib/nginx", instanceapi.DirTLS}

// scratchOf is the folder on this machine of one of the pod's.
func scratchOf(pod, dir string) string {
	return filepath.Join(pod, "scratch", strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-"))
}

// becomeContainer takes a root file system, a folder of volumes, the program with its
// arguments, and becomes that. It is what a runtime does under the restricted profile.
func becomeContainer(arguments []string) error {
	runtime.LockOSThread()
	root, pod, command := arguments[0], arguments[1], arguments[2:]
	if err := mounts(root, pod, command[0]); err != nil {
		return err
	}
	if err := network(); err != nil {
		return fmt.Errorf("network: %w", err)
	}
	if err := unix.Chroot(root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := drop(); err != nil {
		return fmt.Errorf("drop privileges: %w", err)
	}
	command[0] = program
	environment := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	return unix.Exec(program, command, environment)
}

func mounts(root, pod, executable string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount(root, root, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	for _, dir := range scratch {
		if err := unix.Mount(scratchOf(pod, dir), filepath.Join(root, dir), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	for from, to := range map[string]string{
		filepath.Join(pod, "volumes"):         volumes,
		filepath.Join(pod, "termination-log"): terminationLog,
		executable:                            program,
	} {
		if err := unix.Mount(from, filepath.Join(root, to), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	if err := unix.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("proc: %w", err)
	}
	return unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// network brings up the loopback interface, and does what the pod's sysctl does.
func network() error {
	sysctl := "/proc/sys/net/ipv4/ip_unprivileged_port_start"
	if err := os.WriteFile(sysctl, []byte("0"), 0o644); err != nil {
		return err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func drop() error {
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
	if err := unix.Setresgid(user, user, user); err != nil {
		return err
	}
	return unix.Setresuid(user, user, user)
}
