package node

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"example.com/nginx-operator/test/standin/container"
)

// containerFault is how long processes are stopped, and how long the connections that a killed
// worker loses are not counted.
const containerFault = 3 * time.Second

// blows maps names to actions on the processes of a pod.
var blows = map[string]func(*pod, *container.Container) error{
	// The container is killed without a message, as when it runs out of memory.
	"killed": func(_ *pod, c *container.Container) error { return c.Signal(syscall.SIGKILL) },
	// nginx's master process is killed, but the instance manager is not.
	"master-killed": func(_ *pod, c *container.Container) error { return kill(c.Master()) },
	// One worker of nginx is killed, with the requests that it handles.
	"worker-killed": func(p *pod, c *container.Container) error {
		time.AfterFunc(containerFault, p.recovered)
		return kill(c.Worker())
	},
	// The instance manager is stopped for a while. nginx is not.
	"stopped": func(p *pod, c *container.Container) error {
		time.AfterFunc(containerFault, func() { _ = c.Signal(syscall.SIGCONT) }) // it may have ended
		p.recovered()
		return c.Signal(syscall.SIGSTOP)
	},
}

// errNoProcess means that the process to act on does not exist.
var errNoProcess = errors.New("there is no such process")

func kill(pid int) error {
	if pid == 0 {
		return errNoProcess
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// Strike acts on the processes of a pod: blow is killed, master-killed, worker-killed or stopped.
// Requests that clients lose are not counted until the pod has recovered.
func (n *Node) Strike(namespace, name, blow string) error {
	do := blows[blow]
	if do == nil {
		return fmt.Errorf("unknown fault %s", blow)
	}
	for _, p := range n.pods(namespace) {
		c := p.running()
		if p.key.Name != name || c == nil {
			continue
		}
		p.mu.Lock()
		p.struck = true
		p.mu.Unlock()
		return do(p, c)
	}
	return errNoProcess
}

// recovered makes lost requests count again.
func (p *pod) recovered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck = false
}
