package purge

import (
	"context"
	"os"
	"time"

	"example.com/nginx-operator/internal/instance/proc"
)

// A worker of nginx sleeps when it has handled all events, unless there are always more. It handles one in much less than
// maxAwake as well.
const (
	awakePoll = time.Millisecond
	maxAwake  = time.Second
)

// AwaitWorkers waits until each worker of an nginx that this process has started has been asleep, and thus handled the
// events that it had.
func AwaitWorkers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxAwake)
	defer cancel()
	awake := map[int]bool{}
	for _, master := range proc.Root.Children(os.Getpid()) {
		for _, worker := range proc.Root.Children(master.PID) {
			awake[worker.PID] = true
		}
	}
	poll := time.NewTicker(awakePoll)
	defer poll.Stop()
	for {
		for pid := range awake {
			if p, ok := proc.Root.Process(pid); !ok || p.Sleeping || p.Zombie {
				delete(awake, pid)
			}
		}
		if len(awake) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}
