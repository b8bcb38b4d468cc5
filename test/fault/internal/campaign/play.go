package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/snapshot"
	"example.com/nginx-operator/test/fault/internal/subject"
)

const (
	// patience is that of a stage of which nobody says otherwise.
	patience = 60 * time.Second
	// glance is how often it is looked whether it has come.
	glance = 50 * time.Millisecond
	// quiet is how long nothing is written where nothing is to be.
	quiet = 700 * time.Millisecond
)

// play is one performance of a journey.
type play struct {
	*Stage
	journey *journey.Journey
	// name of its files, and of its guest.
	name      string
	namespace string
	guest     *proxy.Guest

	mu      sync.Mutex
	process *subject.Process
	// mortal: pods die by the hand of somebody else.
	mortal bool
	// over: nothing is started any more.
	over bool
	// failed is why the operator could not be started again.
	failed error
	// then is what there was when everything was told to be as expected.
	then snapshot.Picture
}

// newPlay begins a journey: what is given is there, and the operator has settled.
func (s *Stage) newPlay(ctx context.Context, j *journey.Journey, prepare ...func(namespace string)) (*play, error) {
	namespace, err := s.newNamespace(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range prepare {
		p(namespace)
	}
	p := &play{Stage: s, journey: j, name: namespace, namespace: namespace, guest: s.proxy.Invite(namespace)}
	p.guest.OnKill = func() {
		p.kill()
		// Whoever runs operators starts them again.
		go p.started(p.start())
	}
	if err := p.start(); err != nil {
		return nil, err
	}
	for i := range j.Given {
		if err := p.step(ctx, &j.Given[i]); err != nil {
			return p, fmt.Errorf("given: %w", err)
		}
	}
	return p, p.settle(ctx)
}

func (p *play) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	p.guest.Connect()
	process, err := p.Program.Start(p.guest.URL, p.namespace, p.kubeconfig(), p.log())
	p.process = process
	return err
}

// started notes why the operator could not be started.
func (p *play) started(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = errors.Join(p.failed, err)
}

func (p *play) kill() {
	p.guest.Disconnect()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process.Kill()
}

// restart kills the operator and starts it anew.
func (p *play) restart() error {
	p.kill()
	return p.start()
}

// halt ends the operator for good.
func (p *play) halt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.process != nil {
		p.process.Kill()
	}
	p.proxy.Dismiss(p.guest)
}

// close ends a play that went well, or not. What is stored stays, and the pods of some that went
// well.
func (p *play) close(well bool) error {
	p.halt()
	if well && p.keep(p.namespace) {
		return nil
	}
	return p.Pods.Forget(p.namespace)
}

// alive tells why the operator does not run that should.
func (p *play) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil && p.process.Died() {
		return errDied
	}
	return p.failed
}

// step does what the user does.
func (p *play) step(ctx context.Context, s *journey.Step) error {
	switch {
	case s.Create != nil:
		return p.create(ctx, s.Create)
	case s.Patch != nil:
		return p.patch(ctx, s.Patch, s.With)
	case s.Delete != nil:
		r, err := p.resource(p.namespace, s.Delete.Kind, s.Delete.Version)
		if err != nil {
			return err
		}
		background := metav1.DeletePropagationBackground
		return r.Delete(ctx, s.Delete.Name, metav1.DeleteOptions{PropagationPolicy: &background})
	default:
		return p.await(ctx, func(ctx context.Context) error { return p.expect(ctx, s.Await) })
	}
}

func (p *play) create(ctx context.Context, manifest map[string]any) error {
	object := &unstructured.Unstructured{Object: manifest}
	object = object.DeepCopy()
	kind := object.GroupVersionKind()
	r, err := p.resource(p.namespace, kind.Kind, kind.Version)
	if err != nil {
		return err
	}
	// What was deleted a moment ago may be there still.
	return p.await(ctx, func(ctx context.Context) error {
		_, err := r.Create(ctx, object, metav1.CreateOptions{FieldManager: "user"})
		return err
	})
}

func (p *play) patch(ctx context.Context, o *journey.Object, with map[string]any) error {
	r, err := p.resource(p.namespace, o.Kind, o.Version)
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(with)
	if err != nil {
		return err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return err
	}
	_, err = r.Patch(ctx, o.Name, types.MergePatchType, text, metav1.PatchOptions{FieldManager: "user"})
	return err
}

// expect looks once.
func (p *play) expect(ctx context.Context, e *journey.Expectation) error {
	object, err := p.get(ctx, p.namespace, e.Object)
	if err != nil {
		return err
	}
	return e.Check(object)
}

// await looks until a check finds nothing.
func (p *play) await(ctx context.Context, check func(context.Context) error) error {
	deadline := time.Now().Add(p.Patience)
	for {
		err := check(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if err := p.alive(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s: %w", p.Patience, err)
		}
		if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
			return err
		}
		if err := pause(ctx, glance); err != nil {
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

// settle waits until the operator has written nothing for a while.
func (p *play) settle(ctx context.Context) error {
	deadline := time.Now().Add(p.Patience)
	for n := -1; ; {
		now := len(p.guest.Writes())
		if n == now && !p.guest.Holding() {
			return nil
		}
		if n = now; time.Now().After(deadline) {
			return fmt.Errorf("after %s it still writes: %s", p.Patience, last(p.guest.Writes(), 5))
		}
		if err := pause(ctx, quiet); err != nil {
			return err
		}
	}
}

// arrive waits until everything is as expected in the end.
func (p *play) arrive(ctx context.Context) error {
	return p.await(ctx, func(ctx context.Context) error {
		for i := range p.journey.Then {
			if err := p.expect(ctx, &p.journey.Then[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// matches waits until everything is as in a golden run.
func (p *play) matches(ctx context.Context, golden *Golden) error {
	return p.await(ctx, func(ctx context.Context) error {
		picture, err := p.taker.Take(ctx, p.namespace)
		if err != nil {
			return err
		}
		withoutRival(picture)
		if found := snapshot.Differences(golden.End, picture, golden.Mask); len(found) > 0 {
			return fmt.Errorf("the end is not that of an undisturbed run: %s", strings.Join(found[:min(len(found), 5)], "; "))
		}
		return nil
	})
}

// stable makes sure that nothing is written any more: not after everything was listed anew, and not
// after a restart.
func (p *play) stable(ctx context.Context) error {
	p.guest.OnWrite, p.guest.OnEvent = nil, nil
	if err := p.settle(ctx); err != nil {
		return err
	}
	p.guest.Expire()
	if err := p.silent(ctx, "after it had to list everything anew"); err != nil {
		return err
	}
	if err := p.restart(); err != nil {
		return err
	}
	return p.silent(ctx, "after a restart")
}

func (p *play) silent(ctx context.Context, when string) error {
	before := len(p.guest.Writes())
	if err := p.await(ctx, func(context.Context) error { return p.guest.Listed() }); err != nil {
		return err
	}
	if err := p.settle(ctx); err != nil {
		return err
	}
	if writes := p.guest.Writes()[before:]; len(writes) > 0 {
		return fmt.Errorf("%s, %w: %s", when, ErrWrites, last(writes, 5))
	}
	return nil
}

// ErrWrites tells that an operator writes after it was restarted, or had to list everything anew.
var ErrWrites = errors.New("it writes although everything is as it should be")

func last(writes []proxy.Request, n int) string {
	var words []string
	for _, w := range writes[max(0, len(writes)-n):] {
		words = append(words, w.String())
	}
	return strings.Join(words, ", ")
}

// said is the end of what the operator has logged.
func (p *play) said() string {
	text, err := os.ReadFile(p.log())
	if err != nil {
		return err.Error()
	}
	const enough = 2000
	return string(text[max(0, len(text)-enough):])
}

// joined closes a play, and joins what went wrong with that to why it failed.
func joined(err error, p *play) error {
	if p == nil {
		return err
	}
	return errors.Join(err, p.close(err == nil))
}
