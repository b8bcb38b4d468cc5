// Package container runs programs as a node's runtime runs them under the restricted Pod Security
// Standard: as process 1 of namespaces of their own, with a read-only root file system, an
// unprivileged user and no capabilities. Nothing but root is needed, and nothing outlives the
// program that has started it, however that ends.
package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// User is the one of nginx in most images.
const User = 101

// Spec is what a container is made of.
type Spec struct {
	// Root is the folder of the root file system, which many containers can share.
	Root string
	// Mounts are mounted in their order.
	Mounts []Mount
	// Command is the program, by its path in the container, and its arguments.
	Command []string
	// Memory limits what the container may use, in bytes, by a control group that the container
	// sees under /sys/fs/cgroup; 0: there is no limit.
	Memory int64

	// Cgroup is the folder of the control group. Start sets it.
	Cgroup string
}

// Mount shows a folder or a file of this machine in a container.
type Mount struct{ From, To string }

// Container is one that runs, or has ended.
type Container struct {
	command *exec.Cmd
	network *os.File
	cgroup  *cgroup
	ended   chan struct{}
	once    sync.Once
}

// Start starts a container. What it writes goes to output.
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
	// A runtime hands the streams over to the container's user, too.
	err = writer.Chown(User, User)
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
		_, _ = io.Copy(output, reader) // what cannot be kept is lost
		_ = reader.Close()
	}()
	c.network, err = os.Open(fmt.Sprintf("/proc/%d/ns/net", c.PID()))
	go func() {
		_ = c.command.Wait() // State tells of it
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

// PID is process 1 of the container, as this machine counts.
func (c *Container) PID() int { return c.command.Process.Pid }

// Ended is closed when the container has ended.
func (c *Container) Ended() <-chan struct{} { return c.ended }

// State is how it has ended; nil: it runs.
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

// Stop ends the container at once, with all that is in it.
func (c *Container) Stop() {
	c.once.Do(func() {
		_ = c.command.Process.Kill() // it has ended before
		<-c.ended
		_ = c.network.Close() // it was only read
		c.cgroup.remove()
	})
}

// Inside runs a function on a thread in the container's network.
func (c *Container) Inside(do func() error) error {
	raw, err := c.network.SyscallConn()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		var err error
		// The number stands for this network as long as the function runs.
		if used := raw.Control(func(fd uintptr) { err = in(int(fd), do) }); used != nil {
			err = used
		}
		done <- err
	}()
	return <-done
}

// in runs a function on a thread in a network, and brings the thread back: the end of a thread ends
// the processes that it has started.
func in(network int, do func() error) (err error) {
	runtime.LockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer func() { _ = unix.Close(own) }() // it was not even read
		err = unix.Setns(network, unix.CLONE_NEWNET)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = do()
	if back := unix.Setns(own, unix.CLONE_NEWNET); back != nil {
		// Nobody else may get this thread: it ends with this goroutine.
		return errors.Join(err, back)
	}
	runtime.UnlockOSThread()
	return err
}

// Dial connects from inside of the container's network.
func (c *Container) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := c.Inside(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}
