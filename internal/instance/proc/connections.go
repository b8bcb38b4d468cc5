package proc

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ClientInContainer reports whether the client of a TCP connection within the pod is a process of this container, or may be
// one: connections that the table of the kernel does not have count as the container's own.
func (f FS) ClientInContainer(client, server netip.AddrPort) bool {
	inode, uid, ok := f.findConnection(client, server)
	// A socket that its process has closed has no inode any more.
	if !ok || inode == "0" {
		return true
	}
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return true
	}
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			return false
		}
		return hasSocket(filepath.Join(string(f), entry.Name()), inode, uid)
	})
}

// findConnection finds the client's end of a connection in /proc/net/tcp
// (https://docs.kernel.org/networking/proc_net_tcp.html).
func (f FS) findConnection(client, server netip.AddrPort) (inode, uid string, ok bool) {
	from, to := kernelForms(client), kernelForms(server)
	for _, file := range tables["TCP"] {
		if inode, uid, ok = findInTable(filepath.Join(string(f), "net", file), from, to); ok {
			return inode, uid, true
		}
	}
	return "", "", false
}

// findInTable reads a table line by line: with many connections, it is larger than the memory of the process should be.
func findInTable(path string, from, to []string) (inode, uid string, ok bool) {
	table, err := os.Open(path)
	if err != nil {
		// Without IPv6, its table is missing.
		return "", "", false
	}
	defer func() { _ = table.Close() }()
	for lines := bufio.NewScanner(table); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 10 && slices.Contains(from, fields[1]) && slices.Contains(to, fields[2]) {
			return fields[9], fields[7], true
		}
	}
	return "", "", false
}

// kernelForms returns how the kernel prints an address and a port: as words in the machine's byte order, see loopback. A
// socket of IPv6 has an IPv4 address in its mapped form.
func kernelForms(a netip.AddrPort) []string {
	port := strings.ToUpper(hex.EncodeToString([]byte{byte(a.Port() >> 8), byte(a.Port())}))
	six := a.Addr().As16()
	forms := []string{words(six[:]) + ":" + port}
	if address := a.Addr().Unmap(); address.Is4() {
		four := address.As4()
		forms = append(forms, words(four[:])+":"+port)
	}
	return forms
}

func words(address []byte) string {
	swapped := slices.Clone(address)
	for word := range slices.Chunk(swapped, 4) {
		slices.Reverse(word)
	}
	return strings.ToUpper(hex.EncodeToString(swapped))
}

// hasSocket reports whether a process has a socket of a user. If the descriptors cannot be read, one of the same user may
// have it.
func hasSocket(dir, inode, uid string) bool {
	descriptors, err := os.ReadDir(filepath.Join(dir, "fd"))
	if os.IsPermission(err) {
		info, err := os.Stat(dir)
		if err != nil {
			return false
		}
		status, known := info.Sys().(*syscall.Stat_t)
		return !known || strconv.FormatUint(uint64(status.Uid), 10) == uid
	}
	return slices.ContainsFunc(descriptors, func(descriptor os.DirEntry) bool {
		target, err := os.Readlink(filepath.Join(dir, "fd", descriptor.Name()))
		return err == nil && target == "socket:["+inode+"]"
	})
}
