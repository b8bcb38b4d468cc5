package nginx

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// These are offsets in the kernel's struct seccomp_data, and the lengths of the socket addresses
// that nginx passes to bind.
const (
	seccompNumber       = 0
	seccompArchitecture = 4
	seccompLength       = 16 + 2*8 // low half of the third argument, on little-endian machines
	lengthIPv4          = 16
	lengthIPv6          = 28
)

// architectures maps the architectures on which bind can be ignored to the kernel's numbers.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// ignoreBind makes bind succeed without an effect for TCP and UDP addresses, on this thread and in
// the programs that it executes. A socket that listens without being bound gets a free port, so a
// second nginx starts although the first one has the ports of the configuration. Unix sockets are
// bound as usual. A process needs no privilege to filter its own system calls
// (https://docs.kernel.org/userspace-api/seccomp_filter.html).
func ignoreBind() error {
	architecture, ok := architectures[runtime.GOARCH]
	if !ok {
		return errors.New("ignoring bind is not supported on " + runtime.GOARCH)
	}
	program, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: seccompArchitecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: architecture, SkipTrue: 6},
		bpf.LoadAbsolute{Off: seccompNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_BIND, SkipTrue: 4},
		bpf.LoadAbsolute{Off: seccompLength, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: lengthIPv4, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: lengthIPv6, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO}, // the error number 0: success
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return fmt.Errorf("ignore bind: %w", err)
	}
	filter := make([]unix.SockFilter, len(program))
	for i, p := range program {
		filter[i] = unix.SockFilter{Code: p.Op, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	all := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("ignore bind: %w", err)
	}
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&all)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("ignore bind: %w", err)
	}
	return nil
}
