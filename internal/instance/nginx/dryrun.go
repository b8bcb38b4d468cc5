package nginx

import (
	"fmt"
	"io"
	"os/exec"
)

// dryRunStack is the stack size of a thread in a dry run, in bytes. The usual 8 MiB would count
// against the memory limit of the process, although little of it is used.
const dryRunStack = 512 << 10

// spareThreads is the number of threads that a dry run may start in addition to those of
// thread_pool directives: nginx's pool "default" has 32 without being declared.
const spareThreads = 32

// StartDryRun starts a second nginx with a configuration that is not served yet. It binds no TCP or
// UDP port and its memory is limited, so it does not affect the serving nginx. It requires
// CanDryRun.
func (b Binary) StartDryRun(dir string, memory ConfigTestLimits, threads int) (*Master, error) {
	if refusal := memory.tooLittle(); refusal != "" {
		return nil, fmt.Errorf("start a dry run: %s", refusal)
	}
	stacks := uint64(threads+spareThreads) * dryRunStack
	arguments, err := b.command(launch{
		Data: uint64(memory.Own) + stacks, AddressSpace: uint64(memory.All) + stacks, Stack: dryRunStack, IgnoreBind: true, Expendable: true,
	}, b.arguments(dir)...)
	if err != nil {
		return nil, fmt.Errorf("start a dry run: %w", err)
	}
	// Its log becomes the reason of a refusal, and is not mixed into the log of the serving nginx.
	return b.start(exec.Command(arguments[0], arguments[1:]...), io.Discard, func(string) string { return "" })
}
