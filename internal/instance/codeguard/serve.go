package codeguard

import (
	"errors"
	"fmt"
	"log/slog"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is the kernel's struct seccomp_notif.
type notification struct {
	id           uint64
	pid, flags   uint32
	number       int32
	architecture uint32
	pointer      uint64
	arguments    [6]uint64
}

// response is the kernel's struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// descriptor is the index of mmap's argument with the file.
const descriptor = 4

// serve answers until no process has the filter.
func serve(listener int, writable func(string) (string, bool), refused func(path string)) {
	for {
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		switch _, err := unix.Poll(poll, -1); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			slog.Error("nginx can no longer load libraries", "error", err)
			return
		case poll[0].Revents&unix.POLLIN == 0:
			return
		}
		var request notification
		if call(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&request)) != nil {
			continue // The process has ended meanwhile.
		}
		answer := response{id: request.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		path := fmt.Sprintf("/proc/%d/fd/%d", request.pid, int32(request.arguments[descriptor]))
		if name, found := writable(path); found {
			answer.flags, answer.errno = 0, -int32(unix.EACCES)
			refused(name)
		}
		// An error means that the process has ended meanwhile.
		_ = call(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
	}
}

func call(listener int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
