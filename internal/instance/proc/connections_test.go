package proc

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

// TestClientInContainer: the owner of a connection is found in the tables of the kernel.
func TestClientInContainer(t *testing.T) {
	const (
		four = "   0: 0100007F:9C40 0100007F:2399 01 00000000:00000000 00:00000000 00000000   101        0 4711 1 0000000000000000\n"
		six  = "   0: 0000000000000000FFFF00000100007F:9C41 0000000000000000FFFF00000100007F:2399 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0\n"
	)
	const orphan = "   1: 0100007F:9C43 0100007F:2399 04 00000000:00000000 00:00000000 00000000     0        0 0 1 0\n"
	server := netip.MustParseAddrPort("127.0.0.1:9113")
	for name, tt := range map[string]struct {
		client string
		// socket is the inode that process 7 has open.
		socket string
		want   bool
	}{
		"of the container":     {"127.0.0.1:40000", "4711", true},
		"of another container": {"127.0.0.1:40000", "4713", false},
		"IPv6":                 {"127.0.0.1:40001", "4712", true},
		"IPv6, of another":     {"[::ffff:127.0.0.1]:40001", "4711", false},
		"unknown":              {"127.0.0.1:40002", "4713", true},
		"closed":               {"127.0.0.1:40003", "4713", true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"net", "7/fd", "self"} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o750); err != nil {
					t.Fatal(err)
				}
			}
			for file, text := range map[string]string{"tcp": "  sl  local_address\n" + four + orphan, "tcp6": six} {
				if err := os.WriteFile(filepath.Join(root, "net", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(fmt.Sprintf("socket:[%s]", tt.socket), filepath.Join(root, "7/fd/3")); err != nil {
				t.Fatal(err)
			}
			if got := FS(root).ClientInContainer(netip.MustParseAddrPort(tt.client), server); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestOwnConnection: a connection of this process is one of the container, with the tables of the real kernel.
func TestOwnConnection(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		client, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		ends := func(a net.Addr) netip.AddrPort { return netip.MustParseAddrPort(a.String()) }
		inode, _, ok := Root.findConnection(ends(client.LocalAddr()), ends(client.RemoteAddr()))
		if !ok || !hasSocket("/proc/self", inode, "") {
			t.Errorf("%s: the connection is not found as this process's own (inode %q)", address, inode)
		}
	}
}
