// Package container runs programs as the container runtime of a node does under the restricted Pod
// Security Standard: as process 1 of their own namespaces, with a read-only root file system, an
// unprivileged user and no capabilities. It needs only root. Nothing outlives the program that
// started a container, however that program ends.
package container

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// User is the user ID of nginx in most images.
const User = 101

// Spec describes a container.
type Spec struct {
	// Root is the directory of the root file system. Several containers can share it.
	Root string
	// Mounts are mounted in this order.
	Mounts []Mount
	// Command is the path of the program in the container, followed by its arguments.
	Command []string
	// Environment is the environment of the program, as NAME=value. Without a PATH, it gets the usual one.
	Environment []string
	// User and Group are the IDs of the program's user and group. With 0, they are that of nginx.
	User, Group int
	// Memory limits the memory of the container, in bytes, with a control group that the container
	// sees under /sys/fs/cgroup. With 0, there is no limit.
	Memory int64

	// Cgroup is the directory of the control group. Start sets it.
	Cgroup string
}

// Mount mounts a directory or file of this machine in a container.
type Mount struct {
	From, To string
	ReadOnly bool
}

// Container is a container that runs or has ended.
type Container struct {
	command *exec.Cmd
	network *os.File
	cgroup  *cgroup
	ended   chan struct{}
	once    sync.Once
}

// ids returns the IDs of the program's user and group.
func (s *Spec) ids() (user, group int) { return cmp.Or(s.User, User), cmp.Or(s.Group, s.User, User) }

// Start starts a container, whose output goes to output.
func Start(s Spec, output io.Writer) (*Container, error) {
	if s.Memory == 0 {
		return start(s, nil, output)
	}
	group, err := newCgroup(s.Memory)
	if err != nil {
		return nil, err
	}
	s.Cgroup = group.dir
	s.Mounts = append(slices.Clone(s.Mounts), Mount{From: group.dir, To: group.files.mount})
	c, err := start(s, group, output)
	if err != nil {
		group.remove()
	}
	return c, err
}

func start(s Spec, group *cgroup, output io.Writer) (*Container, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// A runtime also makes the container's user the owner of the streams.
	err = writer.Chown(s.ids())
	c := &Container{cgroup: group, command: exec.Command("/proc/self/exe", argument, string(text)), ended: make(chan struct{})}
	c.command.Stdout, c.command.Stderr = writer, writer
	c.command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err == nil {
		err = c.command.Start()
	}
	if err := errors.Join(err, writer.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("start a container: %w", err), reader.Close())
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(output, reader) // output that cannot be written is lost
		_ = reader.Close()
	}()
	c.network, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", c.PID()))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // The container has ended already, as nginx -t does on a busy machine.
	}
	go func() {
		_ = c.command.Wait() // State returns the result
		<-copied
		close(c.ended)
	}()
	if err != nil {
		_ = c.command.Process.Kill()
		<-c.ended
		return nil, fmt.Errorf("start a container: %w", err)
	}
	return c, nil
}

// PID returns the ID of the container's process 1 on this machine.
func (c *Container) PID() int { return c.command.Process.Pid }

// Ended returns a channel that is closed when the container has ended.
func (c *Container) Ended() <-chan struct{} { return c.ended }

// State returns how the container ended, or nil while it runs.
func (c *Container) State() *os.ProcessState {
	select {
	case <-c.ended:
		return c.command.ProcessState
	default:
		return nil
	}
}

// Signal sends a signal to process 1.
func (c *Container) Signal(signal syscall.Signal) error { return c.command.Process.Signal(signal) }

// Stop kills the container with all its processes.
func (c *Container) Stop() {
	c.once.Do(func() {
		_ = c.command.Process.Kill() // it may have ended already
		<-c.ended
		_ = c.network.Close() // it was only read
		c.cgroup.remove()
	})
}

// Inside runs a function on a thread in the container's network namespace.
func (c *Container) Inside(do func() error) error {
	raw, err := c.network.SyscallConn()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		var err error
		// The file descriptor stays valid while the function runs.
		if used := raw.Control(func(fd uintptr) { err = in(int(fd), do) }); used != nil {
			err = used
		}
		done <- err
	}()
	return <-done
}

// in runs a function on a thread in a network namespace and moves the thread back. The thread has
// to stay alive, because its end would end the processes that it has started.
func in(network int, do func() error) (err error) {
	runtime.LockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer func() { _ = unix.Close(own) }() // it was never read
		err = unix.Setns(network, unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = do()
	if back := unix.Setns(own, unix.CLONE_NEWNET); back != nil {
		// No other goroutine may use this thread: it ends with this goroutine.
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}

// Dial connects from inside the container's network namespace.
func (c *Container) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := c.Inside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}
