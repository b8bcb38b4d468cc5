package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/subject"
)

// operator is one that runs, and is started again when it is killed.
type operator struct {
	*Stage
	// name of its files, and of its guest.
	name string
	// namespaces that it looks after, separated by commas; empty: all.
	namespaces string
	// arguments are those that it has beside its program's.
	arguments []string
	guest     *proxy.Guest
	// beside is another one at work; nil: there is none.
	beside *operator

	mu      sync.Mutex
	process *subject.Process
	// upgraded: it is of the next release.
	upgraded bool
	// over: nothing is started any more.
	over bool
	// failed is why it could not be started again.
	failed error
}

// operator makes one that does not run yet.
func (s *Stage) operator(name, namespaces string) *operator {
	o := &operator{Stage: s, name: name, namespaces: namespaces, guest: s.proxy.Invite(name)}
	o.guest.OnKill = func() {
		o.kill()
		// Whoever runs operators starts them again.
		go o.started(o.start())
	}
	return o
}

func (o *operator) start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || o.process != nil && o.process.Running() {
		// Whoever starts what was killed, and whoever replaces it, may come at once.
		return nil
	}
	o.guest.Connect()
	program := o.Program
	if o.upgraded {
		program = o.Next
	}
	program.Args = slices.Concat(program.Args, o.arguments)
	process, err := program.Start(o.guest.URL, o.namespaces, o.kubeconfig(), o.log())
	o.process = process
	return err
}

// started notes why the operator could not be started.
func (o *operator) started(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = errors.Join(o.failed, err)
}

func (o *operator) kill() {
	o.guest.Disconnect()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.process.Kill()
}

// restart kills the operator and starts it anew.
func (o *operator) restart() error {
	o.kill()
	return o.start()
}

// halt ends the operator for good.
func (o *operator) halt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	if o.process != nil {
		o.process.Kill()
	}
	o.proxy.Dismiss(o.guest)
}

// alive tells why the operator does not run that should.
func (o *operator) alive() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil && o.process.Died() {
		return errDied
	}
	return o.failed
}

// await looks until a check finds nothing.
func (o *operator) await(ctx context.Context, check func(context.Context) error) error {
	return o.awaitFor(ctx, o.Patience, check)
}

// awaitFor does so for as long as is told.
func (o *operator) awaitFor(ctx context.Context, patience time.Duration, check func(context.Context) error) error {
	deadline := time.Now().Add(patience)
	for wait := glance; ; wait = min(2*wait, longestGlance) {
		err := check(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := o.alive(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", patience, err)
		}
		if errors.Is(err, errBroken) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// pause lets time pass, where there is no other sign that nothing follows.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// said is the end of what the operator has logged.
func (o *operator) said() string {
	text, err := os.ReadFile(o.log())
	if err != nil {
		return err.Error()
	}
	const enough = 2000
	return string(text[max(0, len(text)-enough):])
}

// kubeconfig is the file by which the operator finds the API server, log the one with what it says.
func (o *operator) kubeconfig() string { return filepath.Join(o.Dir, o.name+".kubeconfig") }
func (o *operator) log() string        { return filepath.Join(o.Dir, o.name+".log") }
