// Package reap collects orphaned processes, which is a duty of the first process of a container.
package reap

import (
	"os"
	"os/exec"
	"sync"
	"syscall"

	"example.com/nginx-operator/internal/instance/proc"
)

// Children tracks the processes that this program waits for itself.
//
// Orphans become children of process 1. Reaping every process that ends with wait4(-1) would take the
// exit status of our own children from exec.Cmd.Wait (https://github.com/golang/go/issues/60481), so
// only the others are reaped.
type Children struct {
	mu   sync.Mutex
	mine map[int]bool
}

// NewChildren returns an empty Children.
func NewChildren() *Children {
	return &Children{mine: map[int]bool{}}
}

// Start starts a command. The caller has to wait for it with Wait.
func (c *Children) Start(command *exec.Cmd) error {
	// The lock keeps Orphans from seeing a child that is not recorded yet.
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := command.Start(); err != nil {
		return err
	}
	c.mine[command.Process.Pid] = true
	return nil
}

// Wait waits for a command that was started with Start.
func (c *Children) Wait(command *exec.Cmd) error {
	err := command.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mine, command.Process.Pid)
	return err
}

// IsOwn reports whether a running process was started with Start.
func (c *Children) IsOwn(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mine[pid]
}

// ReapOrphans reaps the children that have ended and were not started with Start, and returns their
// number.
func (c *Children) ReapOrphans(processes proc.FS) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	reaped := 0
	for _, p := range processes.Children(os.Getpid()) {
		if !p.Zombie || c.mine[p.PID] {
			continue
		}
		var status syscall.WaitStatus
		if pid, err := syscall.Wait4(p.PID, &status, syscall.WNOHANG, nil); err == nil && pid == p.PID {
			reaped++
		}
	}
	return reaped
}
