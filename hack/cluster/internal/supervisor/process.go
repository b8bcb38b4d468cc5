package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"example.com/nginx-operator/hack/cluster/internal/component"
	"example.com/nginx-operator/hack/cluster/internal/sandbox"
	"example.com/nginx-operator/hack/cluster/internal/state"
)

const (
	// stopGrace is the time until a component that does not end is killed. It is short because
	// nothing that the component could save is kept, and because the API server would wait for
	// watches that have no clients any more.
	stopGrace = time.Second
	// Restarts are delayed by firstBackoff, which doubles each time up to lastBackoff. A component
	// that has run for calmAfter starts over with firstBackoff.
	firstBackoff = 500 * time.Millisecond
	lastBackoff  = 30 * time.Second
	calmAfter    = time.Minute
)

// process keeps one component running until it is stopped.
type process struct {
	component component.Component
	// holder is the process whose namespaces the component runs in.
	holder  int
	cluster state.Cluster
	path    string
	cancel  context.CancelFunc
	done    chan struct{}
	changed func()

	mu     sync.Mutex
	status ComponentStatus
}

func startProcess(ctx context.Context, p *process) {
	ctx, p.cancel = context.WithCancel(ctx)
	p.done = make(chan struct{})
	p.status = ComponentStatus{Name: p.component.Name, Node: p.component.LogNode()}
	go p.keepRunning(ctx)
}

// stop ends the component and returns when it has ended.
func (p *process) stop() {
	p.cancel()
	<-p.done
}

func (p *process) keepRunning(ctx context.Context) {
	defer close(p.done)
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		started := time.Now()
		p.update(func(s *ComponentStatus) { s.Running, s.Since = true, started })
		exit := p.run(ctx)
		if ctx.Err() != nil {
			p.update(func(s *ComponentStatus) { s.Running, s.Since = false, time.Now() })
			return
		}
		p.update(func(s *ComponentStatus) {
			s.Running, s.Since, s.LastExit = false, time.Now(), exit
			s.Restarts++
		})
		if time.Since(started) > calmAfter {
			backoff = firstBackoff
		}
		fmt.Printf("%s on %s ended (%s), starting it again in %s\n", p.component.Name, p.component.Node.Name(), exit, backoff)
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return
		}
	}
}

// run runs the component once and returns how it ended.
func (p *process) run(ctx context.Context) string {
	log, err := p.openLog()
	if err != nil {
		return err.Error()
	}
	line := sandbox.NsenterCommand(p.holder, false, p.component.Command...)
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Dir = "/"
	command.Env = append(os.Environ(), "PATH="+p.path)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopGrace
	err = command.Run()
	if err = errors.Join(err, log.Close()); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

func (p *process) openLog() (*os.File, error) {
	path := p.cluster.Log(p.component.Name, p.component.LogNode())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func (p *process) update(change func(*ComponentStatus)) {
	p.mu.Lock()
	change(&p.status)
	p.mu.Unlock()
	p.changed()
}

func (p *process) snapshot() ComponentStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}
