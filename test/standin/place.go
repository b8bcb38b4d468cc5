package standin

import (
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
)

// Place is what jobs of a namespace find on their nodes.
type Place struct {
	// Claim is the folder that every pvc:// is on, Content has the applications' claims by
	// their names.
	Claim, Content string

	mu   sync.Mutex
	fate func(*batchv1.Job) Fate
	// active and most are how many jobs run, and the most that ever did.
	active, most int
	failed       int
	started      []string
}

// Fate is what becomes of a job's pod. The zero value is nothing out of the ordinary.
type Fate struct {
	// Killed: it is killed before it has done anything, and leaves no word.
	Killed bool
	// Unheard: it does its work, and is deleted before anybody has read its word.
	Unheard bool
	// Hold keeps it from its work, whatever it is told, until it is closed.
	Hold <-chan struct{}
	// Cut kills it when it is closed. What it does afterwards reaches nobody.
	Cut <-chan struct{}
}

// Doom sets what becomes of the jobs from now on.
func (p *Place) Doom(decide func(*batchv1.Job) Fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate = decide
}

// Started are the names of the jobs that have ever started, in their order.
func (p *Place) Started() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.started)
}

// Most is how many jobs ran at a time when most did.
func (p *Place) Most() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// Failed is how many jobs have failed, whatever their task was.
func (p *Place) Failed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

func (p *Place) begin(j *batchv1.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active++
	p.most = max(p.most, p.active)
	p.started = append(p.started, j.Name)
}

func (p *Place) end(failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
	if failed {
		p.failed++
	}
}

func (p *Place) fateOf(j *batchv1.Job) Fate {
	p.mu.Lock()
	decide := p.fate
	p.mu.Unlock()
	if decide == nil {
		return Fate{}
	}
	return decide(j)
}
