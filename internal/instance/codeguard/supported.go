package codeguard

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Supported returns an error if the kernel, or the sandbox of the container, cannot ask process 1, or process 1 could not
// answer. It needs Linux 5.8.
func Supported() error {
	if _, ok := architectures[runtime.GOARCH]; !ok {
		return errors.New("nginx-instance knows no system calls of " + runtime.GOARCH)
	}
	var found sizes
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&found))); errno != 0 {
		return fmt.Errorf("the kernel has no notifications of system calls: %w", errno)
	}
	if err := found.check(); err != nil {
		return err
	}
	if _, err := statMount("/"); err != nil {
		return err
	}
	return canContinue()
}

// sizes is the kernel's struct seccomp_notif_sizes.
type sizes struct{ notification, response, data uint16 }

// check returns an error if the kernel writes or reads more than package codeguard provides.
func (s sizes) check() error {
	if uintptr(s.notification) > unsafe.Sizeof(notification{}) || uintptr(s.response) > unsafe.Sizeof(response{}) {
		return fmt.Errorf("the kernel's notifications of system calls have %d and %d bytes, more than nginx-instance knows", s.notification, s.response)
	}
	return nil
}

// statMount returns the status of a file with the number of its mount, which Linux 5.8 and newer know.
func statMount(path string) (unix.Statx_t, error) {
	var info unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_TYPE|unix.STATX_MNT_ID, &info); err != nil {
		return info, fmt.Errorf("find the mount of %s: %w", path, err)
	}
	return info, knowsMount(info)
}

func knowsMount(info unix.Statx_t) error {
	if info.Mask&unix.STATX_MNT_ID == 0 {
		return errors.New("the kernel does not report the mount of a file: it is older than Linux 5.8")
	}
	return nil
}

// canContinue returns an error if a system call cannot continue after a notification. Linux 5.5 and newer look for the
// notification with the ID of the answer, older ones refuse the answer.
func canContinue() error {
	result := make(chan error)
	go func() {
		// The thread ends with the goroutine: the filter, which allows everything, is none of the program.
		runtime.LockOSThread()
		listener, err := listen([]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}})
		if err == nil {
			err = continues(send(listener, &response{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}))
			_ = unix.Close(listener)
		}
		result <- err
	}()
	return <-result
}

// continues returns why system calls cannot continue, given the error of an answer to no notification.
func continues(err error) error {
	if !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("the kernel does not continue system calls after a notification: it is older than Linux 5.5 (%w)", err)
	}
	return nil
}
