package supervise

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime/debug"
	"time"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// ErrBusy means that the instance has more important work than a user's inquiry.
var ErrBusy = errors.New("the instance is busy with a change, or ends: try again")

// errNothingServed means that there is no configuration to compare with.
var errNothingServed = errors.New("nginx serves no configuration yet")

// inquiry is what a user wants to know. The loop answers it when there is nothing else to do.
type inquiry struct {
	// gone is closed when the user has gone.
	gone   <-chan struct{}
	answer func(ctx context.Context)
	// answered is closed after answer has returned.
	answered chan struct{}
}

// ServedConfig returns the configuration that nginx's workers have answered with. It is safe for concurrent use.
func (s *Supervisor) ServedConfig(ctx context.Context) (served instanceapi.ServedConfig, err error) {
	failed := s.inquire(ctx, func(context.Context) {
		var files map[string]string
		if files, err = s.servedFiles(); err == nil {
			served.Revision, served.Files = s.serving.revision, instanceapi.ConfigFiles{}
			for name, text := range nginxconf.Files(files).User() {
				served.Files[name] = []byte(text)
			}
		}
	})
	return served, errors.Join(failed, err)
}

// TestConfig tests a configuration with the user's files as an ordered one is tested, and forgets it. Its checks and
// variables are those of the served configuration. Any order ends the test with ErrBusy. An error says nothing about the
// configuration. It is safe for concurrent use.
func (s *Supervisor) TestConfig(ctx context.Context, user map[string]string) (tested instanceapi.ConfigTest, err error) {
	failed := s.inquire(ctx, func(ctx context.Context) { tested, err = s.testConfig(ctx, user) })
	return tested, errors.Join(failed, err)
}

// inquire has the loop answer an inquiry.
func (s *Supervisor) inquire(ctx context.Context, answer func(context.Context)) error {
	i := inquiry{gone: ctx.Done(), answer: answer, answered: make(chan struct{})}
	select {
	case s.inquiries <- i:
		<-i.answered
		return nil
	case <-ctx.Done():
		return ErrBusy
	}
}

// open returns the inquiries that can be answered now: none while a new configuration is watched.
func (s *Supervisor) open() <-chan inquiry {
	if s.probation != nil {
		return nil
	}
	return s.inquiries
}

// answer answers an inquiry. It is canceled when nginx ends, an order comes, a mounted folder changes, or the user has gone.
func (s *Supervisor) answer(ctx context.Context, i inquiry) {
	defer close(i.answered)
	ctx, cancel := s.whileRunning(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-s.wake:
		case <-s.Changed:
		case <-i.gone:
		case <-ctx.Done():
		}
		cancel()
	}()
	i.answer(ctx)
	cancel()
	// The loop inspects everything next, so no wake-up is lost, unless one is taken later.
	<-watched
	debug.FreeOSMemory()
}

// servedFiles returns the files of the served configuration, with those of the operator.
func (s *Supervisor) servedFiles() (map[string]string, error) {
	if !s.master.Running() || !s.serving.verified {
		return nil, errNothingServed
	}
	return s.find(s.serving.revision)
}

func (s *Supervisor) testConfig(ctx context.Context, user map[string]string) (instanceapi.ConfigTest, error) {
	files, err := s.servedFiles()
	if err != nil {
		return instanceapi.ConfigTest{}, err
	}
	maps.DeleteFunc(files, func(name, _ string) bool { return nginxconf.LegalName(name) })
	maps.Copy(files, user)
	revision := nginxconf.Revision(files)
	if !s.Store.Has(revision) {
		if err := s.Store.SaveRevision(revision, files); err != nil {
			return instanceapi.ConfigTest{}, err
		}
		// The operator must not count on what a user has brought.
		defer s.Store.Forget(revision)
	}
	s.generation++
	start := time.Now()
	c, found, err := s.examine(ctx, revision, s.generation, nil)
	s.Store.Drop(c.dir)
	if aborted(ctx, err) {
		return instanceapi.ConfigTest{}, ErrBusy
	}
	if err != nil {
		return instanceapi.ConfigTest{}, err
	}
	tested := instanceapi.ConfigTest{Revision: revision, Test: instanceapi.Passed, Unread: c.facts.unread, Problems: found}
	if len(found) > 0 {
		tested.Test = instanceapi.Failed
	}
	slog.Info("a user has tested a configuration", "revision", revision, "test", tested.Test, "duration", time.Since(start))
	return tested, nil
}
