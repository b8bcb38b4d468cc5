package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minABI is the first version of Landlock that can allow renames between folders, which nginx does
// with cache files. Earlier versions forbid all of them.
const minABI = 2

// fileRights and folderRights are the rights that are removed and granted again. They include
// renames because Landlock forbids these wherever they are not allowed, handled or not.
const (
	fileRights   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	folderRights = fileRights | unix.LANDLOCK_ACCESS_FS_REFER
)

// Supported returns an error if the kernel, or the seccomp profile of the container runtime, does
// not offer a recent enough Landlock.
func Supported() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return fmt.Errorf("the kernel has no Landlock: %w", errno)
	case abi < minABI:
		return fmt.Errorf("the kernel has version %d of Landlock, and version %d is needed (Linux 5.19)", abi, minABI)
	}
	return nil
}

// restrict restricts the calling thread, and the programs that it executes, to reading and writing files at and
// below the paths.
func restrict(paths []string) error {
	attributes := unix.LandlockRulesetAttr{Access_fs: folderRights}
	// This is the size of the first version: later fields are for rights that are not restricted.
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes.Access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(ruleset)) }()
	for _, path := range paths {
		if err := allow(ruleset, "/"+path); err != nil {
			return fmt.Errorf("allow /%s: %w", path, err)
		}
	}
	// nginx opens its own logs by these, and a runtime may pass files that have no path in the container.
	for _, descriptor := range []int{unix.Stdout, unix.Stderr} {
		if err := allowOpen(ruleset, descriptor); err != nil && !errors.Is(err, unix.EBADFD) { // EBADFD: a pipe, which is always allowed
			return fmt.Errorf("allow the logs: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("enforce the Landlock ruleset: %w", errno)
	}
	return nil
}

func allow(ruleset uintptr, path string) error {
	file, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil // It was removed, or could not be opened anyway.
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(file) }()
	return allowOpen(ruleset, file)
}

func allowOpen(ruleset uintptr, file int) error {
	var info unix.Stat_t
	if err := unix.Fstat(file, &info); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: fileRights, Parent_fd: int32(file)}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = folderRights
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
