package codeguard

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
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

// asProgram is the environment variable that makes the test's program guard itself.
const asProgram = "CODEGUARD_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
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
	os.Exit(0)
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

// TestGuard: the kernel that runs the test asks before a program loads a library, also one that is preloaded.
func TestGuard(t *testing.T) {
	if err := Supported(); err != nil {
		t.Logf("nothing is guarded: %v", err)
		return
	}
	evil := copyLibrary(t)
	for _, refuse := range []bool{false, true} {
		var refused atomic.Pointer[string]
		socket, err := serveWith(func(descriptor string) (string, bool) {
			name, err := os.Readlink(descriptor)
			return name, err != nil || refuse && name == evil
		}, func(path string) { refused.Store(&path) })
		if err != nil {
			t.Fatal(err)
		}
		command := exec.Command(os.Args[0], "/bin/cat", "/proc/self/maps")
		command.Env = append(os.Environ(), asProgram+"=1", "LD_PRELOAD="+evil)
		command.ExtraFiles = []*os.File{socket}
		output, err := command.CombinedOutput()
		if err := socket.Close(); err != nil {
			t.Error(err)
		}
		if mapped := strings.Contains(string(output), evil+"\n"); err != nil || mapped == refuse || (refused.Load() != nil) != refuse {
			t.Errorf("refuse %t: %v\n%s", refuse, err, output)
		}
	}
}
