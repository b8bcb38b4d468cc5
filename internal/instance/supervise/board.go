package supervise

import (
	"context"
	"sync"
)

// board shows the latest snapshot. It is safe for concurrent use.
type board struct {
	mu     sync.Mutex
	latest *Snapshot
	// changed is closed when there is another snapshot.
	changed chan struct{}
}

// post replaces the snapshot by what next makes of it.
func (b *board) post(next func(last *Snapshot) *Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.latest = next(b.latest)
	if b.changed != nil {
		close(b.changed)
	}
	b.changed = make(chan struct{})
}

func (b *board) read() (*Snapshot, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.latest, b.changed
}

// await returns once a snapshot satisfies done, or when ctx is done.
func (b *board) await(ctx context.Context, done func(*Snapshot) bool) {
	for {
		latest, changed := b.read()
		if done(latest) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
