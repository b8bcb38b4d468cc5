// Package reap collects processes that nobody waits for, as the first process of a
// container has to.
package reap

import (
	"os"
	"os/exec"
	"sync"
	"syscall"

	"example.com/nginx-operator/internal/instance/proc"
)

// Children knows which processes this program waits for itself.
//
// Orphans become children of process 1. Reaping whatever ends, by wait4(-1), would take
// away the exit status that exec.Cmd.Wait of our own children asks the kernel for
// (https://github.com/golang/go/issues/60481), so only the others are reaped.
type Children struct {
	mu   sync.Mutex
	mine map[int]bool
}

// NewChildren returns a Children that knows none yet.
func NewChildren() *Children {
	return &Children{mine: map[int]bool{}}
}

// Start starts a command that is waited for by Wait.
func (c *Children) Start(command *exec.Cmd) error {
	// The lock keeps Orphans from seeing a child that is not noted down yet.
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := command.Start(); err != nil {
		return err
	}
	c.mine[command.Process.Pid] = true
	return nil
}

// Wait waits for a command of Start.
func (c *Children) Wait(command *exec.Cmd) error {
	err := command.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mine, command.Process.Pid)
	return err
}

// Started tells whether a process that runs was started by Start.
func (c *Children) Started(pid int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mine[pid]
}

// Orphans reaps the processes that ended as our children without being ours, and
// returns how many there were.
func (c *Children) Orphans(processes proc.FS) int {
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
