package suite

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

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/subject"
)

// operator is a running operator that is restarted when it is killed.
type operator struct {
	*Stage
	// name is the name of its files and of its proxy client.
	name string
	// namespaces are the namespaces that it manages, separated by commas; empty: all.
	namespaces string
	// arguments are its arguments in addition to those of its program.
	arguments []string
	client    *proxy.Client
	// more is how much longer than the stage's patience its checks wait.
	more time.Duration
	// beside is a second operator that runs at the same time; nil: there is none.
	beside *operator

	mu      sync.Mutex
	process *subject.Process
	// release is the release that it runs; empty: this.
	release journey.Release
	// over reports whether it must not be started any more.
	over bool
	// failed is the error of a failed restart.
	failed error
}

// operator creates an operator that does not run yet.
func (s *Stage) operator(name, namespaces string) *operator {
	o := &operator{Stage: s, name: name, namespaces: namespaces, client: s.proxy.NewClient(name)}
	o.client.OnKill = func() {
		o.kill()
		// Restart it, as a cluster does.
		go o.started(o.start())
	}
	return o
}

func (o *operator) start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || o.process != nil && o.process.Running() {
		// A restart after a kill and an upgrade may both start it.
		return nil
	}
	o.client.Connect()
	program, err := o.program(o.release)
	if err != nil {
		return err
	}
	program.Args = slices.Concat(program.Args, o.arguments)
	process, err := program.Start(o.client.URL, o.namespaces, o.kubeconfig(), o.log())
	o.process = process
	return err
}

// started records the error of a restart.
func (o *operator) started(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = errors.Join(o.failed, err)
}

func (o *operator) kill() {
	o.client.Disconnect()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.process.Kill()
}

// restart kills and restarts the operator.
func (o *operator) restart() error {
	o.kill()
	return o.start()
}

// halt ends the operator permanently.
func (o *operator) halt() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	if o.process != nil {
		o.process.Kill()
	}
	o.proxy.Dismiss(o.client)
}

// alive returns an error if the operator should run and does not.
func (o *operator) alive() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil && o.process.Died() {
		return errDied
	}
	return o.failed
}

// await repeats a check until it succeeds, within the stage's patience.
func (o *operator) await(ctx context.Context, check func(context.Context) error) error {
	return o.awaitFor(ctx, o.Patience+o.more, check)
}

// awaitFor repeats a check until it succeeds, within the given patience.
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

// pause waits, for cases in which nothing else signals that no further write follows.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// said returns the end of the operator's log.
func (o *operator) said() string {
	text, err := os.ReadFile(o.log())
	if err != nil {
		return err.Error()
	}
	const enough = 2000
	return string(text[max(0, len(text)-enough):])
}

// kubeconfig is the path of the operator's kubeconfig, and log the path of its log.
func (o *operator) kubeconfig() string { return filepath.Join(o.Dir, o.name+".kubeconfig") }
func (o *operator) log() string        { return filepath.Join(o.Dir, o.name+".log") }
