package proc

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// file writes a file of a procfs.
func (f FS) file(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(string(f), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// process writes a process with 10 ticks in user mode, 5 in system mode, and 100 pages.
func (f FS) process(t *testing.T, pid, parent int, state, name, title string) {
	t.Helper()
	f.file(t, fmt.Sprintf("%d/stat", pid), fmt.Sprintf("%d (%s) %s %d 1 1 0 -1 4194624 0 0 0 0 10 5 7 7 20 0 1 0 100 1000 100 18446744073709551615", pid, name, state, parent))
	f.file(t, fmt.Sprintf("%d/cmdline", pid), title)
}

func TestWorkers(t *testing.T) {
	f := FS(t.TempDir())
	f.process(t, 1, 0, "S", "nginx-instance", "nginx-instance\x00run\x00")
	f.process(t, 7, 1, "S", "nginx", "nginx: master process nginx -c x\x00\x00")
	f.process(t, 8, 7, "S", "nginx", "nginx: worker process\x00")
	f.process(t, 9, 7, "R", "nginx", "nginx: worker process\x00")
	f.process(t, 10, 7, "S", "nginx", "nginx: worker process is shutting down\x00")
	f.process(t, 11, 7, "Z", "nginx", "")
	f.process(t, 12, 7, "S", "nginx", "nginx: cache manager process\x00")
	f.process(t, 13, 8, "S", "nginx", "nginx: worker process\x00")
	f.file(t, "14/stat", "14 (gone")
	f.file(t, "self/stat", "1 (nginx-instance) S 7")
	want := Workers{Running: []int{8, 9}, Exiting: []int{10}, Ticks: 6 * 15, Pages: 6 * 100, Processes: 6}
	got := f.Workers(7)
	// The order is that of the folder names.
	if len(got.Running) == 2 && got.Running[0] > got.Running[1] {
		got.Running[0], got.Running[1] = got.Running[1], got.Running[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]int{9, 8}, f.RunningWorkers(7, []int{9, 99, 14, 13, 12, 11, 10, 8, 7})); diff != "" {
		t.Errorf("running workers, -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(Workers{}, f.Workers(99)); diff != "" {
		t.Errorf("of a master that is gone:\n%s", diff)
	}
}

// TestWorkersOfAngie: its processes have other titles, with the number of the configuration.
func TestWorkersOfAngie(t *testing.T) {
	f := FS(t.TempDir())
	f.process(t, 7, 1, "S", "angie", "angie: master process v1.10.3 #2 [/usr/sbin/angie -c x]\x00\x00")
	f.process(t, 8, 7, "S", "angie", "angie: worker process #2\x00")
	f.process(t, 9, 7, "S", "angie", "angie: worker process is shutting down #1\x00")
	f.process(t, 10, 7, "S", "angie", "angie: cache manager process #2\x00")
	if diff := cmp.Diff(Workers{Running: []int{8}, Exiting: []int{9}, Ticks: 4 * 15, Pages: 4 * 100, Processes: 4}, f.Workers(7)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestParseStat(t *testing.T) {
	rest := strings.Repeat(" 0", 22)
	tests := map[string]struct {
		text string
		want Process
		ok   bool
	}{
		"a name with everything": {"5 (a) S 3 (b c)) Z 4" + rest, Process{PID: 5, Parent: 4, Zombie: true}, true},
		"too short":              {"5 (a) S 4", Process{}, false},
		"nothing":                {"", Process{}, false},
	}
	for name, tt := range tests {
		if got, ok := parseStat(5, []byte(tt.text)); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v %t, want %+v %t", name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestListening(t *testing.T) {
	f := FS(t.TempDir())
	f.file(t, "net/tcp", `  sl  local_address rem_address   st tx_queue rx_queue
   0: 00000000:0050 00000000:0000 0A 00000000:00000000
   1: 0100007F:0051 00000000:0000 0A 00000000:00000000
   2: 0200A8C0:01BB 00000000:0000 0A 00000000:00000000
   3: 0200A8C0:0052 0300A8C0:1234 01 00000000:00000000
`)
	f.file(t, "net/tcp6", `  sl  local_address rem_address st
   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A
   1: 00000000000000000000000001000000:1F91 00000000000000000000000000000000:0000 0A
`)
	f.file(t, "net/udp", `  sl  local_address rem_address   st
   0: 00000000:0035 00000000:0000 07
   1: 0200A8C0:0036 0300A8C0:1234 01
`)
	want := map[Socket]bool{{"TCP", 80}: true, {"TCP", 443}: true, {"TCP", 8080}: true, {"UDP", 53}: true}
	if diff := cmp.Diff(want, f.Listening("TCP", "UDP")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDescriptors: the descriptors of the test process itself are counted.
func TestDescriptors(t *testing.T) {
	before, ok := FS("/proc").Descriptors(os.Getpid())
	if !ok || before.Open < 3 {
		t.Fatalf("there are %+v: %t", before, ok)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || before.Limit != int(limit.Cur) {
		t.Errorf("%d may be open, and not %d: %v", before.Limit, limit.Cur, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if after, _ := FS("/proc").Descriptors(os.Getpid()); after.Sockets != before.Sockets+1 || after.Open <= before.Open {
		t.Errorf("with another socket there are %+v, before %+v", after, before)
	}
	if _, ok := FS(t.TempDir()).Descriptors(1); ok {
		t.Error("a process that there is not has descriptors")
	}
}

func TestThisMachine(t *testing.T) {
	p, ok := Root.Process(os.Getpid())
	if !ok || p.PID != os.Getpid() || p.Parent != os.Getppid() || p.Zombie || p.Pages == 0 {
		t.Errorf("this process is %+v (%t)", p, ok)
	}
	if !strings.Contains(Root.Title(os.Getpid()), filepath.Base(os.Args[0])) {
		t.Errorf("its title is %q", Root.Title(os.Getpid()))
	}
	if !strings.Contains(Root.Meminfo(), "MemTotal:") {
		t.Errorf("the memory is %q", Root.Meminfo())
	}
}

// TestListeningOfTheKernel: sock_diag and /proc/net list the same sockets.
func TestListeningOfTheKernel(t *testing.T) {
	diag := &Diag{Fallback: "/nowhere"}
	for _, tt := range []struct {
		network, address string
		want             bool
	}{
		{"tcp4", "0.0.0.0:0", true}, {"tcp6", "[::]:0", true}, {"tcp4", "127.0.0.1:0", false}, {"tcp6", "[::1]:0", false}, {"tcp4", "127.1.2.3:0", false},
		{"udp4", "0.0.0.0:0", true}, {"udp6", "[::]:0", true}, {"udp4", "127.0.0.1:0", false},
	} {
		socket := Socket{"TCP", 0}
		if strings.HasPrefix(tt.network, "tcp") {
			listener, err := net.Listen(tt.network, tt.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = listener.Close() })
			socket.Port = listener.Addr().(*net.TCPAddr).Port
		} else {
			conn, err := net.ListenPacket(tt.network, tt.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			socket = Socket{"UDP", conn.LocalAddr().(*net.UDPAddr).Port}
		}
		for what, sockets := range map[string]interface {
			Listening(protocols ...string) map[Socket]bool
		}{"/proc/net": Root, "sock_diag": diag} {
			if got := sockets.Listening(socket.Protocol)[socket]; got != tt.want {
				t.Errorf("%s %s: %s says that it listens: %t, want %t", tt.network, tt.address, what, got, tt.want)
			}
		}
	}
	if diag.warned || diag.conn == nil {
		t.Error("sock_diag was not used")
	}
	// Only the requested protocols are listed.
	for socket := range diag.Listening("UDP") {
		if socket.Protocol != "UDP" {
			t.Errorf("%v is listed for UDP", socket)
		}
	}
	if all := diag.Listening(); len(all) != 0 {
		t.Errorf("%v are listed for nothing", all)
	}
}

// TestListeningWithoutSockDiag: /proc/net is read if a sandbox does not offer netlink.
func TestListeningWithoutSockDiag(t *testing.T) {
	f := FS(t.TempDir())
	f.file(t, "net/tcp", "  sl  local_address rem_address   st\n   0: 00000000:0050 00000000:0000 0A 0\n")
	closed, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	diag := &Diag{Fallback: f, conn: closed}
	if !diag.Listening("TCP")[Socket{"TCP", 80}] || !diag.warned {
		t.Error("/proc/net was not read")
	}
	// After a passing failure, sock_diag is used again.
	if diag.Listening("TCP"); diag.warned || diag.conn == nil {
		t.Error("sock_diag was not tried again")
	}
}

func BenchmarkListening(b *testing.B) {
	diag := &Diag{Fallback: Root}
	b.Run("sock_diag", func(b *testing.B) {
		for b.Loop() {
			diag.Listening("TCP")
		}
	})
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			Root.Listening("TCP")
		}
	})
}
