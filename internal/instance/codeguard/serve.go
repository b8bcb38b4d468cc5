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

// server answers the notifications of a command.
type server struct {
	// writable returns the name of an open file, which it is given as a path in /proc, and whether the pod can write it.
	writable func(descriptor string) (name string, writable bool)
	// refused is called with the path of each file that is refused.
	refused func(path string)
	send    func(listener int, answer *response) error
}

// serve answers until no process has the filter. If it returns earlier, the caller has to close the listener: the kernel then
// fails the system calls that wait for an answer, and all later ones.
func (s server) serve(listener int) {
	for {
		ended, err := wait(listener)
		if err == nil && !ended {
			err = s.answer(listener)
		}
		if err != nil {
			slog.Error("nginx can no longer load libraries", "error", err)
		}
		if err != nil || ended {
			return
		}
	}
}

// wait waits for a notification, and reports whether there will be none because no process has the filter.
func wait(listener int) (ended bool, err error) {
	poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(poll, -1)
		if !errors.Is(err, unix.EINTR) {
			return poll[0].Revents&unix.POLLIN == 0, err
		}
	}
}

// answer answers one notification. A process that has ended meanwhile needs no answer.
func (s server) answer(listener int) error {
	var request notification
	switch err := call(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&request)); {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return err
	}
	answer := response{id: request.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	path := fmt.Sprintf("/proc/%d/fd/%d", request.pid, int32(request.arguments[descriptor]))
	if name, writable := s.writable(path); writable {
		answer.flags, answer.errno = 0, -int32(unix.EACCES)
		s.refused(name)
	}
	if err := s.send(listener, &answer); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// send sends an answer. The error is ENOENT if no process waits for it any more.
func send(listener int, answer *response) error {
	for {
		if err := call(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(answer)); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func call(listener int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
