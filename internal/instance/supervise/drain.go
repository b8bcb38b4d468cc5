package supervise

import (
	"log/slog"
	"syscall"
	"time"

	"example.com/nginx-operator/internal/instance/nginx"
)

// killDelay is how long nginx has after TERM.
const killDelay = 2 * time.Second

// drain ends nginx without a failed request. Endpoints forget the pod while it still
// serves; then nginx finishes what it has.
func (s *Supervisor) drain() error {
	s.draining = true
	s.endProbation()
	s.report()
	if !s.master.Running() {
		return nil
	}
	slog.Info("draining", "delay", s.DrainDelay.String(), "timeout", s.DrainTimeout.String())
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
	if s.ends(s.DrainTimeout) {
		slog.Info("nginx has finished")
		return nil
	}
	slog.Warn("nginx did not finish in time", "timeout", s.DrainTimeout.String())
	s.kill(s.master)
	return nil
}

// nudge makes clients with idle connections come back elsewhere: a reload ends the
// connections of the workers that it replaces. It loses no request where nginx keeps
// them for keepalive_min_timeout.
func (s *Supervisor) nudge() {
	if s.DrainDelay > 0 && s.Binary.Version.HasKeepaliveMinTimeout() && s.serving.verified {
		s.end(syscall.SIGHUP)
	}
}

// end sends a signal to an nginx that may have ended.
func (s *Supervisor) end(signal syscall.Signal) {
	if err := s.master.Signal(signal); err != nil {
		slog.Warn("signal nginx", "error", err)
	}
}

// ends waits for the end of nginx, but not for long.
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

// kill ends nginx by force, if TERM does not.
func (s *Supervisor) kill(master *nginx.Master) {
	if err := master.Signal(syscall.SIGTERM); err != nil || ended(master, killDelay) {
		return
	}
	// The group has the workers, too.
	_ = syscall.Kill(-master.PID, syscall.SIGKILL)
	ended(master, killDelay)
}
