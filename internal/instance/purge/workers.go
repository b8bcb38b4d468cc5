package purge

import (
	"context"
	"errors"
	"os"
	"slices"
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
	awake := workers()
	began := time.Now()
	poll := time.NewTicker(awakePoll)
	defer poll.Stop()
	for {
		awake = slices.DeleteFunc(awake, func(pid int) bool { return hasSlept(pid, began) })
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

// workers returns the processes of each nginx that this process has started, without the master processes.
func workers() (all []int) {
	for _, master := range proc.Root.Children(os.Getpid()) {
		for _, worker := range proc.Root.Children(master.PID) {
			all = append(all, worker.PID)
		}
	}
	return all
}

// hasSlept reports whether a worker has handled the events that it had at a time.
func hasSlept(pid int, began time.Time) bool {
	p, ok := proc.Root.Process(pid)
	return !ok || p.Sleeping || p.Zombie || !p.Blocked && time.Since(began) > maxAwake
}
