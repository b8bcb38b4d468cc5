// Package codeguard prevents nginx and its child processes from loading code from a place that nginx, or a client of it,
// can write: modules, engines of OpenSSL, and libraries of Perl and Lua.
//
// A configuration names such a file in many ways (load_module, ssl_engine, engine: keys, include, links, variables), and
// the file can be replaced after a check of its name. Therefore, the kernel asks process 1 at the only place that all of
// them pass: the mmap system call that maps a file, with the file already open
// (https://docs.kernel.org/userspace-api/seccomp_filter.html#userspace-notification). Process 1 finds the file system of
// the open file, and refuses the call if any mount of the pod that can be written contains the file.
//
// The dynamic linker maps every segment of a library privately, also those without code. So this covers libraries that
// run without code of their own, by their relocations. Reading files, and mapping them shared, is not restricted.
package codeguard

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The system call mmap on each architecture, and the kernel's number of the architecture.
var architectures = map[string]struct{ audit, mmap uint32 }{
	"amd64": {unix.AUDIT_ARCH_X86_64, 9},
	"arm64": {unix.AUDIT_ARCH_AARCH64, 222},
}

// These are offsets in the kernel's struct seccomp_data, on little-endian machines: the low half of an argument.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetProtection   = 16 + 2*8
	offsetFlags        = 16 + 3*8
)

// Enter makes the calling thread, and the programs that it executes, ask the process at the other end of a socket, which
// calls Serve. The thread has to be locked and to execute another program.
func Enter(socket *os.File) error {
	filter, err := filter()
	if err != nil {
		return err
	}
	listener, err := listen(filter)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(int(socket.Fd()), []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("pass the notifications of system calls to process 1: %w", err)
	}
	return unix.Close(listener)
}

// listen filters the system calls of the calling thread, and returns the descriptor of their notifications.
func listen(filter []unix.SockFilter) (int, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("set no_new_privs: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return -1, fmt.Errorf("filter system calls: %w", errno)
	}
	return int(listener), nil
}

// filter returns the program that decides of which system calls the kernel notifies: mmap of a file, if it is private or
// executable.
func filter() ([]unix.SockFilter, error) {
	architecture := architectures[runtime.GOARCH]
	return assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: architecture.audit, SkipTrue: 8},
		bpf.LoadAbsolute{Off: offsetNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: architecture.mmap, SkipTrue: 6},
		bpf.LoadAbsolute{Off: offsetFlags, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_ANONYMOUS, SkipTrue: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_PRIVATE, SkipTrue: 2},
		bpf.LoadAbsolute{Off: offsetProtection, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: unix.PROT_EXEC, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
}

func assemble(instructions []bpf.Instruction) ([]unix.SockFilter, error) {
	program, err := bpf.Assemble(instructions)
	if err != nil {
		return nil, fmt.Errorf("filter system calls: %w", err)
	}
	filter := make([]unix.SockFilter, len(program))
	for i, p := range program {
		filter[i] = unix.SockFilter{Code: p.Op, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	return filter, nil
}

// Serve answers for the processes of a command that starts next, until all of them have ended. It calls refused with the
// path of each file that they may not load. It returns the socket for Enter, which the caller closes once the command has
// started.
func Serve(refused func(path string)) (*os.File, error) {
	var mounts mountTable
	return server{writable: mounts.writable, refused: refused, send: send}.start()
}

// start starts the server, and returns the socket for Enter.
func (s server) start() (*os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("guard what nginx loads: %w", err)
	}
	own, theirs := os.NewFile(uintptr(pair[0]), "guard"), os.NewFile(uintptr(pair[1]), "guard")
	go func() {
		listener, err := receive(own)
		if err != nil {
			return // The command has reported why, or it has no guard.
		}
		defer func() { _ = unix.Close(listener) }()
		s.serve(listener)
	}()
	return theirs, nil
}

// receive receives the descriptor that Enter sends.
func receive(own *os.File) (int, error) {
	defer func() { _ = own.Close() }() // nothing is written to it
	conn, err := net.FileConn(own)
	if err != nil {
		return -1, err
	}
	defer func() { _ = conn.Close() }()
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return -1, errors.ErrUnsupported
	}
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := socket.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return -1, errors.Join(err, errors.New("no descriptor was sent"))
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(descriptors[0])
	return descriptors[0], nil
}
