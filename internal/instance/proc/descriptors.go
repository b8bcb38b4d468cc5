package proc

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Inode identifies an open file, whatever its current name.
type Inode struct {
	Device, Number uint64
}

// Holders returns the processes, without the current one, that have the inode open. hidden are the
// processes whose descriptors cannot be read.
func (f FS) Holders(inode Inode) (holders, hidden []int) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, nil
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		held, err := holds(filepath.Join(string(f), entry.Name(), "fd"), inode)
		switch {
		case held:
			holders = append(holders, pid)
		case errors.Is(err, os.ErrPermission):
			hidden = append(hidden, pid)
		}
	}
	return holders, hidden
}

// holds reports whether a link in /proc/PID/fd leads to the inode.
func holds(dir string, inode Inode) (bool, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = folder.Close() }()
	descriptors, err := folder.Readdirnames(-1)
	for _, descriptor := range descriptors {
		var info unix.Stat_t
		// An error means that it was closed meanwhile.
		if unix.Fstatat(int(folder.Fd()), descriptor, &info, 0) == nil && inodeOf(&info) == inode {
			return true, nil
		}
	}
	return false, err
}

// Descriptors describes the open files of a process.
type Descriptors struct {
	// Open is their number, and Sockets is how many are sockets. Limit is how many may be open; 0:
	// unlimited.
	Open, Sockets, Limit int
}

// Descriptors reads /proc/PID/fd and limits (https://docs.kernel.org/filesystems/proc.html).
func (f FS) Descriptors(pid int) (Descriptors, bool) {
	dir := filepath.Join(string(f), strconv.Itoa(pid))
	entries, entriesErr := os.ReadDir(filepath.Join(dir, "fd"))
	limits, limitsErr := os.ReadFile(filepath.Join(dir, "limits"))
	if entriesErr != nil || limitsErr != nil {
		return Descriptors{}, false
	}
	found := Descriptors{Open: len(entries), Limit: openFiles(string(limits))}
	for _, entry := range entries {
		// An error means that it was closed meanwhile.
		if target, err := os.Readlink(filepath.Join(dir, "fd", entry.Name())); err == nil && strings.HasPrefix(target, "socket:") {
			found.Sockets++
		}
	}
	return found, true
}

// openFiles returns the soft limit of open files, or 0 if there is none.
func openFiles(limits string) int {
	for line := range strings.Lines(limits) {
		if rest, found := strings.CutPrefix(line, "Max open files"); found {
			return int(numberField("n "+rest, "n"))
		}
	}
	return 0
}

// InodeOf returns the inode and the mode of a descriptor of the current process.
func InodeOf(descriptor int) (Inode, uint32, error) {
	var info unix.Stat_t
	if err := unix.Fstat(descriptor, &info); err != nil {
		return Inode{}, 0, err
	}
	return inodeOf(&info), info.Mode, nil
}

func inodeOf(info *unix.Stat_t) Inode {
	return Inode{Device: uint64(info.Dev), Number: info.Ino}
}
