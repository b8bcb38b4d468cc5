// Package supervise runs nginx: it boots it, tests what the operator asks to be tested,
// loads what it asks to be loaded, and ends it gracefully.
//
// One loop owns everything, so that nothing ever happens at the same time: look at the
// folders, decide (purely, see decide), do one thing, report, look again. What cannot
// wait, a stop signal or the end of nginx, cancels the thing that is being done.
//
// A configuration is loaded in five steps: its files are assembled in a folder of their
// own, nginx tests them, the symbolic link `current` is switched to the folder, nginx is
// sent HUP, and its workers are asked what they serve. Only their answer counts. If it
// does not come, the link is switched back.
package supervise

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/nginx-operator/internal/instance/assemble"
	"example.com/nginx-operator/internal/instance/certs"
	"example.com/nginx-operator/internal/instance/checks"
	"example.com/nginx-operator/internal/instance/journal"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/problems"
	"example.com/nginx-operator/internal/instance/proc"
	"example.com/nginx-operator/internal/instance/store"
	"example.com/nginx-operator/internal/instanceapi"
)

// poll is how often the folders are looked at even if nobody says that they changed.
const poll = 10 * time.Second

// Options of a Supervisor.
type Options struct {
	Binary nginx.Binary
	Store  *store.Store
	Certs  *certs.Keeper
	// Stable, Next and Requests are the mounted folders.
	Stable, Next, Requests string
	// ReloadOn are mounted folders whose changes make nginx reload what it serves.
	ReloadOn []string
	// TLSDir is where nginx finds the certificates.
	TLSDir string
	// Assembly is the same for all configurations; Revision and Generation are set here.
	Assembly assemble.Settings
	Ports    []instanceapi.DeclaredPort
	// OwnPort is taken by the instance itself.
	OwnPort                  int
	DrainDelay, DrainTimeout time.Duration
	Proc                     proc.FS
	Cgroup                   fs.FS
	// Messages is where nginx's error log goes.
	Messages io.Writer
	// Journal keeps which loads have ended a container.
	Journal *journal.Journal
	// Changed says that a folder may have changed; Signals are those that do not stop.
	Changed <-chan struct{}
	Signals <-chan syscall.Signal
	// Answers counts what nginx answers; nil: requests are not measured.
	Answers Answers
	// Checks repeats those of what is served, for readiness.
	Checks *checks.Prober
}

// Supervisor runs one nginx.
type Supervisor struct {
	Options
	asker   nginx.Asker
	folders folders
	past    history

	master  *nginx.Master
	serving serving
	// generation of the configuration that was assembled last.
	generation int64
	old        generations
	// inputs counts the changes of certificates and of the folders of ReloadOn.
	inputs      int
	mounts      mounts
	reloadAsked bool
	retryReload time.Time
	// refusals of certificates in a row, and when they are tried again.
	refusals          int
	retryCertificates time.Time
	reloads           instanceapi.Reloads
	// lastTrial is of what is served.
	lastTrial trial
	// probation is of what was loaded last; nil: it is over.
	probation *probation
	draining  bool
	quitting  bool

	// granted was told by HTTP, and told says that it has changed.
	granted atomic.Pointer[granted]
	told    chan struct{}

	board atomic.Pointer[Snapshot]
}

// serving is what the workers were told to serve.
type serving struct {
	revision   string
	generation int64
	dir        string
	// verified is set when the workers have answered with the generation, and since when
	// they have answered with the revision.
	verified bool
	since    time.Time
}

// New returns a Supervisor that has done nothing yet.
func New(options Options) *Supervisor {
	s := &Supervisor{Options: options, told: make(chan struct{}, 1), asker: nginx.Asker{Socket: assemble.StatusSocket(options.Assembly.StateDir)}}
	s.mounts.dirs = options.ReloadOn
	s.recall(time.Now())
	s.report()
	return s
}

// Run runs nginx until ctx is done, and then drains it. It returns an error if nginx
// ends by itself.
func (s *Supervisor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		s.look(ctx)
		if err := s.unexpectedEnd(); err != nil {
			return err
		}
		next := decide(s.view())
		if next.do == idle {
			s.report()
			s.wait(ctx, next.until)
			continue
		}
		s.perform(ctx, next)
		s.report()
		// Tests and loads need memory for a moment, and then nothing for days.
		debug.FreeOSMemory()
	}
	return s.drain()
}

func (s *Supervisor) view() view {
	return view{
		now:             time.Now(),
		running:         s.master.Running(),
		serving:         s.serving.revision,
		unverified:      !s.serving.verified,
		stable:          s.folders.stable.revision,
		requested:       instanceapi.Requested{Test: s.folders.requested.Test, Load: s.toLoad()},
		atHand:          s.atHand,
		past:            &s.past,
		inputs:          s.inputs,
		certificatesDue: s.Certs.Due(),
		mountsChanged:   s.mounts.changed(),
		retryMounts:     s.retryMounts(),
		givenUp:         s.givenUp(),
		reloadAsked:     s.reloadAsked,
		retryReload:     s.retryReload,
		crowded:         s.old.crowded(time.Now(), s.DrainTimeout),
	}
}

func (s *Supervisor) perform(ctx context.Context, next step) {
	ctx, cancel := s.whileRunning(ctx)
	defer cancel()
	switch next.do {
	case publish:
		s.publish(ctx)
	case start, load:
		s.load(ctx, next.revision)
	case reload:
		s.reloadAsked = false
		s.reload(ctx)
	case reloadMounts:
		s.reloadMounts(ctx)
	case test:
		s.test(ctx, next.revision)
	case undo:
		s.undo(ctx)
	case idle:
	}
}

// whileRunning is done when the nginx that runs now ends.
func (s *Supervisor) whileRunning(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if master := s.master; master.Running() {
		go func() {
			select {
			case <-master.Ended:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// wait returns when there may be something to do.
func (s *Supervisor) wait(ctx context.Context, until time.Time) {
	pause := poll
	if !until.IsZero() {
		pause = min(poll, max(0, time.Until(until)))
	}
	switch p := s.probation; {
	case p == nil:
	case p.comparing:
		pause = min(pause, firstPause)
	default:
		pause = min(pause, probationPause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var ended, alerts <-chan struct{}
	if s.master != nil {
		ended, alerts = s.master.Ended, s.master.Log.Alerts()
	}
	select {
	case <-ctx.Done():
	case <-ended:
	case <-alerts:
	case <-s.Changed:
	case <-s.told:
	case <-timer.C:
	case signal := <-s.Signals:
		s.signal(signal)
	}
}

func (s *Supervisor) signal(signal syscall.Signal) {
	switch signal {
	case syscall.SIGHUP:
		s.reloadAsked = s.master.Running()
	case syscall.SIGUSR1:
		// nginx opens its log files anew.
		if err := s.master.Signal(signal); err != nil {
			slog.Warn("reopen the logs", "error", err)
		}
	default: // All others stop nginx, or are not asked for.
	}
}

// unexpectedEnd is an error if nginx is gone. It is never started again here: what it
// was is lost, and the kubelet restarts containers in a way that everybody can see.
func (s *Supervisor) unexpectedEnd() error {
	if s.master == nil || s.master.Running() {
		return nil
	}
	return &EndedError{Outcome: s.master.Outcome(), LastWords: problems.LastWords(s.master.Log.Since(0))}
}

// EndedError tells that nginx ended although nobody wanted it to.
type EndedError struct {
	Outcome string
	// LastWords are what its error log has about the end.
	LastWords []string
}

func (e *EndedError) Error() string {
	if e.Outcome == "signal: killed" {
		return "nginx was killed: if nobody did it, the container's memory ran out (resources.limits.memory)"
	}
	return fmt.Sprintf("nginx ended by itself: %s", e.Outcome)
}
