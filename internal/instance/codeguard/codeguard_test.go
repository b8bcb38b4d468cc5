package codeguard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// mounts is what a pod has: a root that is read-only, an emptyDir, and a volume that is mounted twice.
const mounts = `22 1 0:30 / / ro,relatime - overlay overlay rw,lowerdir=/a
23 22 8:1 /kubelet/pods/1/empty-dir/tmp /tmp rw,relatime - ext4 /dev/sda1 rw
24 22 8:1 /kubelet/pods/1/config-map/modules /srv/modules ro,relatime - ext4 /dev/sda1 rw
25 22 8:2 /data /srv/twice ro - ext4 /dev/sdb rw
26 22 8:2 / /srv/again rw - ext4 /dev/sdb rw
27 22 8:1 /kubelet/pods/1/empty-dir/a\040b /srv/a\040b ro - ext4 /dev/sda1 rw
28 22 0:31 / /dev rw - tmpfs tmpfs rw
29 22 8:3 / /srv/whole rw - iso9660 /dev/sr0 ro
`

func TestWritablePlaces(t *testing.T) {
	table := mountTable(parseMounts(mounts))
	for _, tt := range []struct {
		mount uint64
		name  string
		want  bool
	}{
		{22, "/usr/lib/libc.so.6", false},
		{23, "/tmp/up/0000000001", true},
		{23, "/tmp/up/0000000001 (deleted)", true},
		{24, "/srv/modules/a.so", false},
		{25, "/srv/twice/a.so", true},
		{27, "/srv/a b/a.so", false},
		{29, "/srv/whole/a.so", false},
		{99, "/memfd:a (deleted)", true},
	} {
		if got := table.contains(tt.mount, tt.name); got != tt.want {
			t.Errorf("%s on mount %d is writable: %t", tt.name, tt.mount, got)
		}
	}
}

// asProgram is the environment variable that makes the test's program guard itself and run its arguments, or print why the
// guard is not supported by a kernel that refuses all answers.
const asProgram = "CODEGUARD_TEST_RUN"

func TestMain(m *testing.M) {
	switch os.Getenv(asProgram) {
	case "":
		os.Exit(m.Run())
	case "guarded":
		runtime.LockOSThread()
		socket := os.NewFile(3, "guard")
		if err := Enter(socket); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		command := exec.Command(os.Args[1], os.Args[2:]...)
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		if err := command.Run(); err != nil {
			os.Exit(1)
		}
	case "no answers":
		fmt.Println(errors.Join(refuseAnswers(), Supported()))
	}
	os.Exit(0)
}

// refuseAnswers makes the answers to notifications of all threads of the program fail, as those with
// SECCOMP_USER_NOTIF_FLAG_CONTINUE do before Linux 5.5.
func refuseAnswers() error {
	const request = 16 + 1*8
	filter, err := assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IOCTL, SkipTrue: 3},
		bpf.LoadAbsolute{Off: request, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SECCOMP_IOCTL_NOTIF_SEND, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	all := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&all))); errno != 0 {
		return errno
	}
	return nil
}

// copyLibrary returns the path of a copy of a library of the machine.
func copyLibrary(t *testing.T) string {
	t.Helper()
	libraries, err := filepath.Glob("/lib/*/libm.so.6")
	if err != nil || len(libraries) == 0 {
		t.Fatalf("the machine has no libm: %v", err)
	}
	content, err := os.ReadFile(libraries[0])
	if err != nil {
		t.Fatal(err)
	}
	evil := filepath.Join(t.TempDir(), "evil.so")
	if err := os.WriteFile(evil, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return evil
}

// guarded runs a program that loads a library with a guard, and returns its output.
func guarded(t *testing.T, s server, library string) (string, error) {
	t.Helper()
	if err := Supported(); err != nil {
		t.Fatalf("this kernel cannot run the test: %v", err)
	}
	socket, err := s.start()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "/bin/cat", "/proc/self/maps")
	command.Env = append(os.Environ(), asProgram+"=guarded", "LD_PRELOAD="+library)
	command.ExtraFiles = []*os.File{socket}
	command.WaitDelay = time.Second
	// The program has a child, which must not survive the test.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	output, err := command.CombinedOutput()
	if err := errors.Join(socket.Close(), ctx.Err()); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	return string(output), err
}

// TestGuard: the kernel that runs the test asks before a program loads a library, also one that is preloaded.
func TestGuard(t *testing.T) {
	evil := copyLibrary(t)
	for _, refuse := range []bool{false, true} {
		var refused atomic.Pointer[string]
		output, err := guarded(t, server{
			writable: func(descriptor string) (string, bool) {
				name, err := os.Readlink(descriptor)
				return name, err != nil || refuse && name == evil
			},
			refused: func(path string) { refused.Store(&path) },
			send:    send,
		}, evil)
		if mapped := strings.Contains(output, evil+"\n"); err != nil || mapped == refuse || (refused.Load() != nil) != refuse {
			t.Errorf("refuse %t: %v\n%s", refuse, err, output)
		}
	}
}

// TestGuardFails: a program does not wait forever if the kernel refuses the answers.
func TestGuardFails(t *testing.T) {
	output, err := guarded(t, server{
		writable: func(string) (string, bool) { return "", false },
		send:     func(int, *response) error { return unix.EINVAL },
	}, copyLibrary(t))
	if err == nil {
		t.Errorf("the program loaded libraries without an answer:\n%s", output)
	}
}

// TestSupported: the guard needs all that it uses of the kernel.
func TestSupported(t *testing.T) {
	for name, err := range map[string]error{
		"an unknown field of a notification": sizes{notification: 88, response: 24}.check(),
		"an unknown field of an answer":      sizes{notification: 80, response: 32}.check(),
		"the mount of a file":                knowsMount(unix.Statx_t{Mask: unix.STATX_BASIC_STATS}),
		"continuing system calls":            continues(unix.EINVAL),
	} {
		if err == nil {
			t.Errorf("%s is not needed", name)
		}
	}
	known := errors.Join(sizes{notification: 80, response: 24}.check(), knowsMount(unix.Statx_t{Mask: unix.STATX_MNT_ID}), continues(unix.ENOENT))
	if known != nil {
		t.Error(known)
	}
}

// TestSupportedAnswers: a kernel that refuses the answers is found out before nginx starts.
func TestSupportedAnswers(t *testing.T) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), asProgram+"=no answers")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "older than Linux 5.5") {
		t.Errorf("%v: %s", err, output)
	}
}
