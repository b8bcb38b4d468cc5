package node

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"example.com/nginx-operator/test/standin/container"
)

// spell is for how long processes are stopped, and for how long what becomes of a worker's
// connections is looked at mildly.
const spell = 3 * time.Second

// blows are what can be done to the processes of a pod, by their names.
var blows = map[string]func(*pod, *container.Container) error{
	// The container ends without a word, as a lack of memory has it end.
	"killed": func(_ *pod, c *container.Container) error { return c.Signal(syscall.SIGKILL) },
	// nginx is killed, and the instance manager is not.
	"master-killed": func(_ *pod, c *container.Container) error { return kill(c.Master()) },
	// One of nginx's workers is, with the requests that it has.
	"worker-killed": func(p *pod, c *container.Container) error {
		time.AfterFunc(spell, p.recovered)
		return kill(c.Worker())
	},
	// The instance manager does not do anything for a while. nginx does.
	"stopped": func(p *pod, c *container.Container) error {
		time.AfterFunc(spell, func() { _ = c.Signal(syscall.SIGCONT) }) // it has ended
		p.recovered()
		return c.Signal(syscall.SIGSTOP)
	},
}

// errNoProcess tells that there is nobody to be struck.
var errNoProcess = errors.New("there is no such process")

func kill(pid int) error {
	if pid == 0 {
		return errNoProcess
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// Strike does something to the processes of a pod: it is killed, master-killed, worker-killed or
// stopped. What its clients lose by that is not counted
// until it has recovered.
func (n *Node) Strike(namespace, name, blow string) error {
	do := blows[blow]
	if do == nil {
		return fmt.Errorf("nobody knows how a pod is %s", blow)
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

// recovered: what is lost from now on counts.
func (p *pod) recovered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck = false
}
