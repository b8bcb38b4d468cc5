package standin

import (
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
)

// NodeStorage is the storage that jobs of a namespace find on their nodes.
type NodeStorage struct {
	// Claim is the directory of every pvc:// location. Content holds the claims of the
	// applications, by name.
	Claim, Content string

	// using is read-locked by each job that uses the storage, and closed is set when no other may.
	using  sync.RWMutex
	closed bool

	mu   sync.Mutex
	fate func(*batchv1.Job) Fate
	// active is the number of running jobs, and most its maximum.
	active, most int
	failed       int
	started      []string
}

// Fate is what happens to a job's pod. With the zero value, the pod runs normally.
type Fate struct {
	// Killed kills the pod before it has done anything, without a message.
	Killed bool
	// Unheard deletes the pod after its work, before its message has been read.
	Unheard bool
	// Hold keeps the pod from its work until the channel is closed, even if the pod is cancelled.
	Hold <-chan struct{}
	// Cut kills the pod when the channel is closed. Nothing that it does afterwards is visible.
	Cut <-chan struct{}
}

// use reports whether a job may use the storage, which it must release.
func (p *NodeStorage) use() bool {
	p.using.RLock()
	if p.closed {
		p.using.RUnlock()
		return false
	}
	return true
}

func (p *NodeStorage) release() { p.using.RUnlock() }

// close waits for the jobs that use the storage, and lets no other use it.
func (p *NodeStorage) close() {
	p.using.Lock()
	defer p.using.Unlock()
	p.closed = true
}

// Fail sets the fate of jobs from now on.
func (p *NodeStorage) Fail(decide func(*batchv1.Job) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = decide
}

// Started returns the names of all jobs that have started, in order.
func (p *NodeStorage) Started() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.started)
}

// Most returns the maximum number of jobs that have run concurrently.
func (p *NodeStorage) Most() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// Failed returns how many jobs have failed, whatever their task.
func (p *NodeStorage) Failed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *NodeStorage) begin(j *batchv1.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active++
	p.most = max(p.most, p.active)
	p.started = append(p.started, j.Name)
}

func (p *NodeStorage) end(failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
	if failed {
		p.failed++
	}
}

func (p *NodeStorage) fateOf(j *batchv1.Job) Fate {
	p.mu.Lock()
	decide := p.fate
	p.mu.Unlock()
	if decide == nil {
		return Fate{}
	}
	return decide(j)
}
