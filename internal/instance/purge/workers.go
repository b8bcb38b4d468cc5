package purge

import (
	"context"
	"errors"
	"os"
	"time"

	"example.com/nginx-operator/internal/instance/proc"
)

// A worker of nginx sleeps when it has handled all events, unless there are always more. It has handled one after maxAwake,
// if it does not wait for a disk.
const (
	awakePoll = time.Millisecond
	maxAwake  = time.Second
)

// AwaitWorkers waits until each worker of an nginx that this process has started has been asleep, and thus handled the
// events that it had. It returns an error if a worker waits for a disk until ctx is done.
func AwaitWorkers(ctx context.Context) error {
	awake := map[int]bool{}
	for _, master := range proc.Root.Children(os.Getpid()) {
		for _, worker := range proc.Root.Children(master.PID) {
			awake[worker.PID] = true
		}
	}
	began := time.Now()
	poll := time.NewTicker(awakePoll)
	defer poll.Stop()
	for {
		for pid := range awake {
			p, ok := proc.Root.Process(pid)
			if !ok || p.Sleeping || p.Zombie || !p.Blocked && time.Since(began) > maxAwake {
				delete(awake, pid)
			}
		}
		if len(awake) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("a worker of nginx waits for its disk")
		case <-poll.C:
		}
	}
}
