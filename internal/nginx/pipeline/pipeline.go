// Package pipeline makes one pass over an nginx application. A pass is one sequence, a package a step:
//
//	observe → select a revision → build → compare → apply → compute the status
//
// This package holds the sequence, what the process remembers between passes, and the reads that depend on a decision:
// the requests of canaries, and the histories of all applications before one is renewed.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	kubeapply "example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/apply"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
	"example.com/nginx-operator/internal/nginx/status"
)

// refusalRetry is how often the operator tries an object again that the API server refused. What may cure it,
// such as the deletion of a foreign object with the same name or node port, is in no cache, so no event
// reports it.
const refusalRetry = 30 * time.Second

// Pipeline keeps the cluster as applications declare it.
type Pipeline struct {
	// Histories lists the histories of all applications.
	Histories client.Reader
	Observer  *observe.Observer
	Applier   *apply.Applier
	// SendOrder sends an instance an order, and returns its status when it has carried that out.
	SendOrder func(ctx context.Context, podIP string, order instanceapi.SignedOrder) (instanceapi.Status, error)
	// Keys sign the orders.
	Keys KeyRing
	// Requests returns the results of an instance's requests to a configuration revision in the last seconds.
	Requests func(ctx context.Context, podIP, revision string, seconds int) (instanceapi.RequestWindow, error)
	Options  revision.Options
	// RenewPods gives pods the template of this release, one application at a time.
	RenewPods bool
	Clock     clock.PassiveClock

	backoff     requeueBackoff
	renewals    renewals
	orders      orders
	statusDelay statusDelay
	rejections  rejections
	statusPace  statusPace
	// enqueue queues an application.
	enqueue func(types.NamespacedName)
}

// Result is what came of a pass.
type Result struct {
	// Status is the new status. It is not to be written yet if Held is set.
	Status status.Result
	Held   bool
	// Declared identifies what is declared: the generation of the owner, and the requested revision.
	Declared string
	// After is when the next pass has to be made without an event; 0 if never.
	After time.Duration
	// RolledOut reports whether what the spec requests has been rolled out: no rollout of it is to come, is under way, or
	// has failed. A pod that is away since then makes no difference.
	RolledOut bool
	// State is what the pass observed.
	State observe.State
	// Failure holds the errors that the status reports as well. Return it once the status was written.
	Failure error
}

// pass is what one pass over one application knows. Each step reads what those before it found.
type pass struct {
	app *application.Application
	now time.Time
	// state comes from observe.
	state observe.State
	// selection, verdict and blocked come from selectRevision.
	selection *revision.Selection
	verdict   *canary.Verdict
	blocked   revision.Blocked
	// objects and changes come from build and compare.
	objects desired.Objects
	changes []kubeapply.Change
	// outcome comes from apply, failure are its errors that the status reports as well.
	outcome apply.Outcome
	failure error
	// postponed reports whether orders have to be sent later, because too many are in flight.
	postponed bool
	// answersDue reports whether orders were in flight when the pass had observed, or have been sent since. They may have
	// been answered since, which queues the next pass.
	answersDue bool
}

func (p *pass) key() types.NamespacedName { return p.app.Key() }

func (p *pass) suspended() bool { return ptr.Deref(p.app.Spec.Suspend, false) }

// Run makes one pass over an application. It is level-based: whatever caused it, it observes everything again. It
// returns nil if there is nothing to report, or not yet.
func (l *Pipeline) Run(ctx context.Context, app *application.Application) (*Result, error) {
	p, err := l.observe(ctx, app)
	if p == nil || err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *pass) error{l.selectRevision, build, compare, l.apply} {
		if err := step(ctx, p); err != nil {
			return nil, err
		}
	}
	if p.outcome.Interrupted() {
		return nil, p.failure
	}
	return l.result(p), nil
}

// StatusWait returns how long the write of a changed status of an object has to wait: pods can change their answers at any time.
// If it is 0, the write counts. Make another pass after that time, since the status may change again. declared is
// Result.Declared.
func (l *Pipeline) StatusWait(object types.NamespacedName, declared string) time.Duration {
	return l.statusPace.next(object, declared, l.Clock.Now())
}

// News returns the events of a status that was written, without those that have been published already.
func (l *Pipeline) News(app types.NamespacedName, written status.Result) []status.Event {
	return l.rejections.news(app, written)
}

// Forget drops what the process remembers of an application that is gone, or being deleted.
func (l *Pipeline) Forget(key types.NamespacedName) {
	l.Observer.Forget(key)
	l.backoff.forget(key)
	l.statusDelay.forget(key)
	l.rejections.forget(key)
	l.statusPace.forget(key)
	l.renewals.release(key)
}

// ForgetStatus drops what the process remembers of the writes of the status of an object that is no application.
func (l *Pipeline) ForgetStatus(object types.NamespacedName) { l.statusPace.forget(object) }

// observe reads the cluster. It returns nil if there is nothing to do yet.
func (l *Pipeline) observe(ctx context.Context, app *application.Application) (*pass, error) {
	state, err := l.Observer.Observe(ctx, app)
	switch {
	case errors.Is(err, observe.ErrUnanswered):
		// Their answers, or the end of waiting for them, queue it again (Start).
		return nil, nil
	case errors.Is(err, owned.ErrStaleCache):
		// The newest spec comes by the watch.
		log.FromContext(ctx).Info("waiting for the newest spec", "reason", err.Error())
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &pass{app: app, now: l.Clock.Now(), state: state, answersDue: l.orders.inFlight(app.Key())}, nil
}

// build builds the objects that should exist.
func build(_ context.Context, p *pass) (err error) {
	p.objects, err = desired.Build(p.app, p.state, p.selection)
	return err
}

// compare finds the changes that bring the cluster to these objects.
func compare(_ context.Context, p *pass) (err error) {
	p.changes, err = apply.Compare(p.app, p.objects.Intents, p.state)
	return err
}

// apply makes the changes. Before one that gives pods something else to run, it verifies the history. While the
// application is suspended, it only notes them. It returns an error if what the pass observed was wrong or has changed,
// so that there is nothing to report.
func (l *Pipeline) apply(ctx context.Context, p *pass) error {
	if p.suspended() {
		p.outcome = apply.Suspend(p.changes, p.selection.PodAnnotations)
		return nil
	}
	if apply.ChangesPods(p.changes) {
		if err := l.Observer.VerifyHistoryFresh(ctx, p.app, p.state.History); err != nil {
			return err
		}
	}
	p.outcome, p.failure = l.Applier.Apply(ctx, p.app, p.selection.Records, p.changes)
	switch {
	case p.outcome.Terminating:
		// Garbage collection ends the application, whatever failed.
		p.failure = nil
	case errors.Is(p.failure, owned.ErrStaleCache):
		return p.failure
	}
	if p.failure == nil && !p.outcome.Interrupted() && !p.outcome.AnyFailed("ConfigMap") {
		p.failure = l.orderPods(ctx, p)
	}
	return nil
}

// orderPods sends the pods their orders, and writes annotations of pods.
func (l *Pipeline) orderPods(ctx context.Context, p *pass) error {
	s := p.selection
	if n := len(s.Orders); n > 0 {
		log.FromContext(ctx).V(1).Info("sending orders to pods", "revision", s.Run.Config.Revision, "phase", s.Rollout.Phase, "pods", n)
	}
	sent, postponed, err := l.sendOrders(ctx, p.key(), s.Orders)
	p.answersDue, p.postponed = p.answersDue || sent, postponed
	return errors.Join(err, l.Applier.AnnotatePods(ctx, p.app, s.PodAnnotations))
}

// result computes the status, and when to make the next pass.
func (l *Pipeline) result(p *pass) *Result {
	again := l.backoff.next(p.key(), p.selection.Rollout, activity{
		annotated: len(p.selection.PodAnnotations) > 0, inFlight: l.orders.inFlight(p.key()), postponed: p.postponed, volumes: usesVolumes(p.app),
	}, p.now)
	again = rollout.Soonest(again, p.selection.RequeueAfter)
	if p.outcome.Retry {
		again = rollout.Soonest(again, refusalRetry)
	}
	held := l.holdsStatus(p)
	if held {
		again = rollout.Soonest(again, statusDelayed)
	}
	declared := fmt.Sprint(p.app.Generation, p.selection.Requested.Hash, p.selection.Requested.Config.Revision)
	return &Result{Status: p.computeStatus(), Held: held, Declared: declared, After: again, RolledOut: p.rolledOut(), State: p.state, Failure: p.failure}
}

func (p *pass) rolledOut() bool {
	s := p.selection
	return (s.Mode == revision.Normal || s.Mode == revision.Pinned) && s.Began == nil && len(p.outcome.Failed) == 0 &&
		p.state.LiveTemplate() == s.Run.Hash && s.Stable.Revision == s.Run.Config.Revision
}

// holdsStatus reports whether the status is not to be written yet.
func (l *Pipeline) holdsStatus(p *pass) bool {
	return l.statusDelay.holds(p.key(), p.answersDue && p.failure == nil && p.selection.Began == nil, p.now)
}

func (p *pass) computeStatus() status.Result {
	blocked := p.blocked
	if blocked.Reason == "" {
		blocked = revision.Blocked(p.outcome.Refused)
	}
	return status.Compute(status.Input{
		Nginx:            p.app.NginxOperator,
		Owner:            p.app.Owner,
		Workload:         p.app.Workload(),
		State:            p.state.After(p.outcome.Applied, p.outcome.Recorded),
		Selection:        *p.selection,
		Verdict:          p.verdict,
		KeepsPorts:       p.objects.KeepsPorts,
		Blocked:          blocked,
		Failed:           p.outcome.Failed,
		Failure:          p.outcome.FirstFailure,
		AwaitingDeletion: p.outcome.AwaitingDeletion,
		DroppedFields:    p.outcome.DroppedFields,
		Pending:          p.outcome.Pending,
		Now:              p.now,
	})
}

// usesVolumes reports whether nginx reloads when mounted volumes change, the result of which emits no event.
func usesVolumes(app *application.Application) bool {
	return len(app.Spec.TLS) > 0 || len(ptr.Deref(app.Spec.PodTemplate, v1alpha2.PodTemplate{}).ReloadOn) > 0
}
