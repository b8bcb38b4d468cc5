package supervise

import (
	"context"
	"log/slog"
	"syscall"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
)

const (
	// killDelay is the time that nginx has to end after SIGTERM.
	killDelay = 2 * time.Second
	// maxBeforeDrain bounds what happens before a drain. A rollout fails that does not replace a pod for 10 minutes.
	maxBeforeDrain = 2 * time.Minute
	// patience is how much longer a drain waits for it.
	patience = time.Second
)

// drain ends nginx without a failed request. nginx continues to serve while the pod is removed from
// the endpoints, and then finishes the requests that it has.
func (s *Supervisor) drain(ctx context.Context) error {
	s.draining = true
	s.endProbation()
	s.report()
	if !s.master.Running() {
		return nil
	}
	timeout := s.DrainTimeout - s.beforeDrain(ctx)
	slog.Info("draining", "delay", s.DrainDelay.String(), "timeout", timeout.String())
	half := s.DrainDelay / 2
	if s.ends(half) {
		return s.unexpectedEnd()
	}
	s.nudge()
	if s.ends(s.DrainDelay - half) {
		return s.unexpectedEnd()
	}
	s.quitting = true
	s.report()
	s.end(syscall.SIGQUIT)
	if s.ends(timeout) {
		slog.Info("nginx has finished")
		return nil
	}
	slog.Warn("nginx did not finish in time", "timeout", timeout.String())
	s.kill(s.master)
	return nil
}

// beforeDrain returns how long BeforeDrain has taken. A volume that hangs does not hold up the drain.
func (s *Supervisor) beforeDrain(ctx context.Context) time.Duration {
	if s.BeforeDrain == nil {
		return 0
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, min(s.DrainTimeout/2, maxBeforeDrain))
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.BeforeDrain(ctx)
	}()
	select {
	case <-done:
	case <-s.master.Ended:
	case <-after(ctx, patience):
		slog.Warn("the preparation of the drain has not ended in time, so the drain begins without it")
	}
	return time.Since(began)
}

// after returns a channel that gets the time some time after ctx has ended.
func after(ctx context.Context, pause time.Duration) <-chan time.Time {
	ended := make(chan time.Time, 1)
	go func() {
		<-ctx.Done()
		time.AfterFunc(pause, func() { ended <- time.Now() })
	}()
	return ended
}

// nudge makes clients with idle connections reconnect to another pod: a reload closes the idle
// connections of the replaced workers. No request is lost if nginx keeps the connections for
// keepalive_min_timeout.
func (s *Supervisor) nudge() {
	if s.DrainDelay > 0 && s.Binary.KeepaliveMinTimeout && s.serving.verified {
		s.end(syscall.SIGHUP)
	}
}

// end sends a signal to nginx, which may have ended already.
func (s *Supervisor) end(signal syscall.Signal) {
	if err := s.master.Signal(signal); err != nil {
		slog.Warn("cannot signal nginx", "error", err)
	}
}

// ends waits for nginx to end, at most for the given time, and reports whether it did.
func (s *Supervisor) ends(within time.Duration) bool {
	return ended(s.master, within)
}

func ended(master *nginx.Master, within time.Duration) bool {
	select {
	case <-master.Ended:
		return true
	case <-time.After(within):
		return false
	}
}

// kill ends nginx with SIGTERM, or with SIGKILL if that is not enough.
func (s *Supervisor) kill(master *nginx.Master) {
	if err := master.Signal(syscall.SIGTERM); err != nil || ended(master, killDelay) {
		return
	}
	// The process group includes the workers.
	_ = syscall.Kill(-master.PID, syscall.SIGKILL)
	ended(master, killDelay)
}
