package purge

import (
	"context"
	"os"
	"time"

	"example.com/nginx-operator/internal/instance/proc"
)

// A worker of nginx sleeps between two turns of its event loop, unless it has more to do than it can. A turn takes much
// less than maxTurn then as well.
const (
	turnPoll = time.Millisecond
	maxTurn  = time.Second
)

// Turn waits until each worker of an nginx that this process has started has been asleep, and thus ended the turn of its
// event loop that it was in, if there was one.
func Turn(ctx context.Context) {
	awake := map[int]bool{}
	for _, master := range proc.Root.Children(os.Getpid()) {
		for _, worker := range proc.Root.Children(master.PID) {
			awake[worker.PID] = true
		}
	}
	for end := time.Now().Add(maxTurn); len(awake) > 0 && time.Now().Before(end) && ctx.Err() == nil; {
		for pid := range awake {
			if p, ok := proc.Root.Process(pid); !ok || p.Sleeping || p.Zombie {
				delete(awake, pid)
			}
		}
		if len(awake) > 0 {
			time.Sleep(turnPoll)
		}
	}
}
