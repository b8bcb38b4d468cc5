// Package controller reconciles NginxOperators. A pass is one sequence, a package a step:
//
//	observe → select a revision → build → compare → apply → report the status
//
// This package holds the sequence, its watches, what the process remembers between passes, and the reads that depend on a
// decision: the requests of canaries, and the histories of all applications before one is renewed.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	kubeapply "example.com/nginx-operator/internal/kube/apply"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/apply"
	"example.com/nginx-operator/internal/nginx/canary"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
	"example.com/nginx-operator/internal/nginx/rollout"
	"example.com/nginx-operator/internal/nginx/status"
)

// refusalRetry is how often the operator tries an object again that the API server refused. What may cure it,
// such as the deletion of a foreign object with the same name or node port, is in no cache, so no event
// reports it.
const refusalRetry = 30 * time.Second

// Reconciler keeps the cluster as every NginxOperator declares it.
type Reconciler struct {
	Client   client.Client
	Observer *observe.Observer
	Applier  *apply.Applier
	Recorder events.EventRecorder
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
	// enqueue queues an application.
	enqueue func(types.NamespacedName)
}

// pass is what one pass over one NginxOperator knows. Each step reads what those before it found.
type pass struct {
	nginx *v1alpha2.NginxOperator
	now   time.Time
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

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(p.nginx) }

func (p *pass) suspended() bool { return ptr.Deref(p.nginx.Spec.Suspend, false) }

// Reconcile is one pass over one NginxOperator. It is level-based: whatever woke it, it observes everything again.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, err := r.observe(ctx, req.NamespacedName)
	if p == nil || err != nil {
		return ctrl.Result{}, err
	}
	for _, step := range []func(context.Context, *pass) error{r.selectRevision, build, compare, r.apply} {
		if err := step(ctx, p); err != nil {
			return ctrl.Result{}, err
		}
	}
	return r.report(ctx, p)
}

// observe reads the resource and the cluster. It returns nil if there is nothing to do, or not yet.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*pass, error) {
	nginx := &v1alpha2.NginxOperator{}
	err := r.Client.Get(ctx, key, nginx)
	if apierrors.IsNotFound(err) || err == nil && nginx.DeletionTimestamp != nil {
		// Garbage collection removes what it owns. That can take long if an object has a finalizer.
		r.forget(key)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state, err := r.Observer.Observe(ctx, nginx)
	switch {
	case errors.Is(err, observe.ErrUnanswered):
		// Their answers, or the end of waiting for them, queue it again (SetupWithManager).
		return nil, nil
	case errors.Is(err, owned.ErrStaleCache):
		// The newest spec comes by the watch.
		log.FromContext(ctx).Info("waiting for the newest spec", "reason", err.Error())
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &pass{nginx: nginx, now: r.Clock.Now(), state: state, answersDue: r.orders.inFlight(key)}, nil
}

// build builds the objects that should exist.
func build(_ context.Context, p *pass) (err error) {
	p.objects, err = desired.Build(p.nginx, p.state, p.selection)
	return err
}

// compare finds the changes that bring the cluster to these objects.
func compare(_ context.Context, p *pass) (err error) {
	p.changes, err = apply.Compare(p.nginx, p.objects.Intents, p.state)
	return err
}

// apply makes the changes. Before one that gives pods something else to run, it verifies the history. While the
// resource is suspended, it only notes them. It returns an error if what the pass observed was wrong or has changed, so
// that there is nothing to report.
func (r *Reconciler) apply(ctx context.Context, p *pass) error {
	if p.suspended() {
		p.outcome = apply.Suspend(p.changes, p.selection.PodAnnotations)
		return nil
	}
	if apply.ChangesPods(p.changes) {
		if err := r.Observer.VerifyHistoryFresh(ctx, p.nginx, p.state.History); err != nil {
			return err
		}
	}
	p.outcome, p.failure = r.Applier.Apply(ctx, p.nginx, p.selection.Records, p.changes)
	switch {
	case p.outcome.Terminating:
		// Garbage collection ends the application, whatever failed.
		p.failure = nil
	case errors.Is(p.failure, owned.ErrStaleCache):
		return p.failure
	}
	if p.failure == nil && !p.outcome.Interrupted() && !p.outcome.AnyFailed("ConfigMap") {
		p.failure = r.orderPods(ctx, p)
	}
	return nil
}

// orderPods sends the pods their orders, and writes annotations of pods.
func (r *Reconciler) orderPods(ctx context.Context, p *pass) error {
	s := p.selection
	if n := len(s.Orders); n > 0 {
		log.FromContext(ctx).V(1).Info("sending orders to pods", "revision", s.Run.Config.Revision, "phase", s.Rollout.Phase, "pods", n)
	}
	sent, postponed, err := r.sendOrders(ctx, p.key(), s.Orders)
	p.answersDue, p.postponed = p.answersDue || sent, postponed
	return errors.Join(err, r.Applier.AnnotatePods(ctx, p.nginx.Namespace, s.PodAnnotations))
}

// report writes the status, and says when to reconcile again.
func (r *Reconciler) report(ctx context.Context, p *pass) (ctrl.Result, error) {
	if p.outcome.Interrupted() {
		return ctrl.Result{}, p.failure
	}
	blocked := p.blocked
	if blocked.Reason == "" {
		blocked = revision.Blocked(p.outcome.Refused)
	}
	next := status.Compute(status.Input{
		Nginx:            p.nginx,
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
	inFlight := r.orders.inFlight(p.key())
	again := r.backoff.next(p.key(), p.selection.Rollout, activity{
		annotated: len(p.selection.PodAnnotations) > 0, inFlight: inFlight, postponed: p.postponed, volumes: usesVolumes(p.nginx),
	}, p.now)
	again = rollout.Soonest(again, p.selection.RequeueAfter)
	if p.outcome.Retry {
		again = rollout.Soonest(again, refusalRetry)
	}
	if r.holdsStatus(p) {
		return requeue(rollout.Soonest(again, statusDelayed), nil)
	}
	return requeue(again, errors.Join(p.failure, r.writeStatus(ctx, p.nginx, next)))
}

// holdsStatus reports whether the status is not to be written yet.
func (r *Reconciler) holdsStatus(p *pass) bool {
	return r.statusDelay.holds(p.key(), p.answersDue && p.failure == nil && p.selection.Began == nil, p.now)
}

// forget drops what the process remembers of an NginxOperator that is gone, or being deleted.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.Observer.Forget(key)
	r.backoff.forget(key)
	r.statusDelay.forget(key)
	r.rejections.forget(key)
	r.renewals.release(key)
}

// usesVolumes reports whether nginx reloads when mounted volumes change, the result of which emits no event.
func usesVolumes(nginx *v1alpha2.NginxOperator) bool {
	return len(nginx.Spec.TLS) > 0 || nginx.Spec.PodTemplate != nil && len(nginx.Spec.PodTemplate.ReloadOn) > 0
}

// writeStatus writes the status, at most once and only if it changed. It publishes events afterwards, so that
// each describes a persisted state.
func (r *Reconciler) writeStatus(ctx context.Context, nginx *v1alpha2.NginxOperator, next status.Result) error {
	if !next.Changed {
		return nil
	}
	config, err := status.ApplyConfiguration(nginx, next.Status)
	if err != nil {
		return err
	}
	err = r.Client.Status().Apply(ctx, config, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
	if err != nil {
		// The resource may have been deleted in the meantime.
		return client.IgnoreNotFound(fmt.Errorf("write the status: %w", err))
	}
	for _, e := range r.rejections.news(client.ObjectKeyFromObject(nginx), next) {
		r.Recorder.Eventf(nginx, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
	return nil
}

// requeue is the result of a pass: an error has a back-off of its own.
func requeue(after time.Duration, err error) (ctrl.Result, error) {
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: after}, nil
}
