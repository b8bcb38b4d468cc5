// Package supervise runs nginx: it boots it, tests and loads the configurations that the operator
// requests, and ends it gracefully.
//
// One loop owns all state, so nothing runs concurrently: inspect the folders and the orders, decide (a pure
// function, see decide), perform one action, report, repeat. What cannot wait, a stop signal or the
// end of nginx, cancels the current action.
//
// A configuration is loaded in six steps: its files are assembled in a new folder, nginx tests them, the symbolic link
// `current` is switched to the folder, nginx receives SIGHUP, the old workers are told to quit when the new ones have
// started, and these are queried which configuration they serve. Only their answer counts. If they do not confirm it,
// the link is switched back.
package supervise

import (
	"cmp"
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

// poll is the interval at which the folders are inspected without a notification.
const poll = 10 * time.Second

// Options are the options of a Supervisor.
type Options struct {
	Binary nginx.Binary
	Store  *store.Store
	Certs  *certs.Keeper
	// Stable and Next are the mounted folders.
	Stable, Next string
	// Follow returns a revision to load without an order; empty: none.
	Follow func() string
	// ReloadOn are mounted folders. A change in them reloads nginx.
	ReloadOn []string
	// TLSDir is where nginx finds the certificates.
	TLSDir string
	// Assembly holds the settings that all configurations share; Revision and Generation are set
	// here.
	Assembly assemble.Settings
	Ports    []instanceapi.DeclaredPort
	// OwnPort is the port of the instance itself.
	OwnPort                  int
	DrainDelay, DrainTimeout time.Duration
	// BeforeDrain is called before nginx is drained, for at most half of DrainTimeout, of which its time is a part. Unset:
	// nothing is done.
	BeforeDrain func(context.Context)
	Proc        proc.FS
	Cgroup      fs.FS
	// Messages receives nginx's error log.
	Messages io.Writer
	// Journal records which loads have ended a container.
	Journal *journal.Journal
	// Changed signals that a folder may have changed; Signals are the signals that do not stop the
	// instance.
	Changed <-chan struct{}
	Signals <-chan syscall.Signal
	// Answers counts the responses of nginx; nil: requests are not measured.
	Answers Answers
	// Variables is the folder with the values of the configuration's variables.
	Variables string
	// Checks repeats the checks of the served configuration, for readiness.
	Checks *checks.Prober
	// Readiness repeats spec.readiness.
	Readiness *checks.Prober
}

// NotReadyReason returns why the requests to the served configuration keep the pod from being ready; empty: they do not.
func (o *Options) NotReadyReason() string {
	return cmp.Or(o.Checks.NotReadyReason(), o.Readiness.NotReadyReason())
}

// Supervisor runs one nginx.
type Supervisor struct {
	Options
	statusClient nginx.StatusClient
	// secrets are values in configurations that no message may show.
	secrets problems.Secrets
	folders folders
	past    history

	master  *nginx.Master
	serving serving
	// generation is the generation of the configuration that was assembled last.
	generation int64
	// tested is what passed its test last and is not loaded yet; its dir is empty if there is nothing.
	tested candidate
	old    generations
	// inputs counts the changes of certificates and of the folders of ReloadOn.
	inputs          int
	mounts          mounts
	reloadRequested bool
	retryReload     time.Time
	// refusals counts the certificates that nginx refused in a row, and retryCertificates is when
	// they are tried again.
	refusals          int
	retryCertificates time.Time
	reloads           instanceapi.Reloads
	// lastAnalysis is the analysis of the served configuration.
	lastAnalysis analysis
	// probation is the probation of the last load; nil: it has ended.
	probation *probation
	draining  bool
	quitting  bool

	// ordered is the latest order; nil: it has been taken. wake wakes the loop when there is one.
	ordered atomic.Pointer[order]
	wake    chan struct{}
	// attempt is the current test; nil: there is none.
	attempt atomic.Pointer[attempt]
	// inquiries are those of users.
	inquiries chan inquiry

	board board
}

// serving is the configuration that the workers are meant to serve.
type serving struct {
	revision   string
	generation int64
	dir        string
	// verified is set once the workers have answered with the generation, and since is when they
	// began to answer with the revision.
	verified bool
	since    time.Time
}

// New returns a Supervisor. Run starts its work.
func New(options Options) *Supervisor {
	s := &Supervisor{Options: options, wake: make(chan struct{}, 1), inquiries: make(chan inquiry), statusClient: nginx.NewStatusClient(assemble.StatusSocket(options.Assembly.StateDir))}
	s.mounts.dirs = options.ReloadOn
	s.recall(time.Now())
	s.report()
	return s
}

// StatusClient returns the client of the status server.
func (s *Supervisor) StatusClient() nginx.StatusClient { return s.statusClient }

// Run runs nginx until ctx is done, and then drains it. It returns an error if nginx ends
// unexpectedly.
func (s *Supervisor) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		s.inspect(ctx)
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
		// Tests and loads need memory for a moment, and then there may be none for days.
		debug.FreeOSMemory()
	}
	return s.drain(context.WithoutCancel(ctx))
}

func (s *Supervisor) view() view {
	return view{
		now:                time.Now(),
		running:            s.master.Running(),
		serving:            s.serving.revision,
		unverified:         !s.serving.verified,
		stable:             s.folders.stable.revision,
		requested:          s.folders.requested,
		atHand:             s.atHand,
		past:               &s.past,
		inputs:             s.inputs,
		certificatesDue:    s.Certs.HasUnpublished(),
		mountsChanged:      s.mounts.changed(),
		retryMounts:        s.retryMounts(),
		givenUp:            s.givenUp(),
		reloadRequested:    s.reloadRequested,
		retryReload:        s.retryReload,
		tooManyGenerations: s.old.tooMany(time.Now(), s.DrainTimeout),
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
		s.reloadRequested = false
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

// whileRunning returns a context that is canceled when the current nginx ends.
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

// wait returns when there may be something to do. Meanwhile, it answers an inquiry.
func (s *Supervisor) wait(ctx context.Context, until time.Time) {
	timer := time.NewTimer(s.pause(until))
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
	case <-s.wake:
	case <-timer.C:
	case signal := <-s.Signals:
		s.signal(signal)
	case i := <-s.open():
		s.answer(ctx, i)
	}
}

// pause returns how long to wait at most.
func (s *Supervisor) pause(until time.Time) time.Duration {
	pause := poll
	if !until.IsZero() {
		pause = min(poll, max(0, time.Until(until)))
	}
	switch p := s.probation; {
	case p == nil:
		return pause
	case p.comparing:
		return min(pause, firstPause)
	}
	return min(pause, probationPause)
}

func (s *Supervisor) signal(signal syscall.Signal) {
	switch signal {
	case syscall.SIGHUP:
		s.reloadRequested = s.master.Running()
	case syscall.SIGUSR1:
		// nginx reopens its log files.
		if err := s.master.Signal(signal); err != nil {
			slog.Warn("cannot reopen the logs", "error", err)
		}
	default: // Other signals stop nginx or are not handled.
	}
}

// unexpectedEnd returns an error if nginx has ended. nginx is not restarted here: its state is
// lost, and a restart of the container by the kubelet is visible to users.
func (s *Supervisor) unexpectedEnd() error {
	if s.master == nil || s.master.Running() {
		return nil
	}
	lines := problems.FatalLines(s.master.Log.Since(0))
	for i := range lines {
		lines[i] = s.redact(lines[i])
	}
	return &EndedError{Outcome: s.master.Outcome(), LastLines: lines}
}

// EndedError reports that nginx ended unexpectedly.
type EndedError struct {
	Outcome string
	// LastLines are the last lines of its error log, redacted.
	LastLines []string
}

func (e *EndedError) Error() string {
	if e.Outcome == "signal: killed" {
		return "nginx was killed: unless a user killed it, the container ran out of memory (resources.limits.memory)"
	}
	return fmt.Sprintf("nginx ended by itself: %s", e.Outcome)
}
