// Package nginx reconciles NginxOperators. It holds the sequence and its watches,
// and nothing else: what is read is decided in observe, what should exist in
// desired, what is written in apply, and what is told in status.
package nginx

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
	"example.com/nginx-operator/internal/apply"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/naming"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
	"example.com/nginx-operator/internal/status"
)

// refusalRetry is how often an object that was refused is tried again. What may cure
// it, such as the end of somebody else's object of the same name or node port, is in
// no cache, so no event tells of it.
const refusalRetry = 30 * time.Second

// Reconciler keeps what every NginxOperator declares true.
type Reconciler struct {
	Client   client.Client
	Observer *observe.Observer
	Applier  *apply.Applier
	Recorder events.EventRecorder
	// Tell tells an instance the word at which it loads a configuration.
	Tell func(ctx context.Context, podIP, word string) error
	// Requests asks an instance what became of its requests of the last seconds to a revision.
	Requests func(ctx context.Context, podIP, revision string, seconds int) (instanceapi.RequestWindow, error)
	Options  desired.Options
	// RenewPods gives pods the template of this release, one application at a time.
	RenewPods bool
	Clock     clock.PassiveClock

	pace     pace
	renewals renewals
	loads    loadRequests
	refusals refusals
}

// Reconcile is one pass over one NginxOperator. It is level-based: it looks at
// everything again, whatever woke it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nginx := &v1alpha2.NginxOperator{}
	if err := r.Client.Get(ctx, req.NamespacedName, nginx); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if nginx.DeletionTimestamp != nil {
		// Garbage collection removes what it owns. It may take long to be gone, if somebody's finalizer holds it.
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	state, err := r.Observer.Gather(ctx, nginx)
	if errors.Is(err, observe.ErrUnanswered) {
		// Their answers, or the end of waiting for them, queue it again (SetupWithManager).
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	outdated, err := r.Observer.Outdated(ctx, nginx, state)
	if err != nil {
		return ctrl.Result{}, err
	}
	if outdated {
		// The newest one comes by the watch.
		log.FromContext(ctx).Info("waiting for the newest spec: objects were written for a later one", "generation", nginx.Generation)
		return ctrl.Result{}, nil
	}
	if lacked, err := r.relabel(ctx, nginx, state); err != nil || lacked {
		return ctrl.Result{}, err
	}
	state.Now = r.Clock.Now()
	state.Overdue = r.pace.overdue(req.NamespacedName, state.Now)
	plan, blocked, err := r.plan(ctx, nginx, &state)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.pursue(ctx, nginx, state, plan, blocked)
}

// relabel finds what somebody has taken the label from. Nothing is written for a suspended application.
func (r *Reconciler) relabel(ctx context.Context, nginx *v1alpha2.NginxOperator, state observe.State) (bool, error) {
	if ptr.Deref(nginx.Spec.Suspend, false) {
		return false, nil
	}
	return r.Applier.Relabel(ctx, nginx, state)
}

// forget drops what is remembered of an NginxOperator that is gone, or on its way.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.Observer.Forget(key)
	r.pace.forget(key)
	r.refusals.forget(key)
	r.renewals.end(key)
}

// pursue carries out a plan and tells what came of it.
func (r *Reconciler) pursue(ctx context.Context, nginx *v1alpha2.NginxOperator, state observe.State, plan *desired.Plan, blocked desired.Blocked) (ctrl.Result, error) {
	outcome, err := r.carryOut(ctx, nginx, plan, state)
	if err != nil && (outcome.Applied == nil || outcome.Outdated) {
		// What was found is not so, or not any more: it is not told.
		return ctrl.Result{}, err
	}
	if outcome.Terminating {
		// Garbage collection ends the application; there is nothing to tell.
		return ctrl.Result{}, nil
	}
	if blocked.Reason == "" {
		blocked = outcome.Refused
	}
	next := status.Compute(status.Input{
		Nginx:   nginx,
		State:   state.After(outcome.Applied, outcome.Recorded),
		Plan:    plan,
		Blocked: blocked,
		Failed:  outcome.Failed,
		Leaving: outcome.Leaving,
		NotKept: outcome.NotKept,
		Pending: outcome.Pending,
		Now:     state.Now,
	})
	again := r.pace.next(client.ObjectKeyFromObject(nginx), plan.Rollout, len(plan.Asks) > 0, usesVolumes(nginx), state.Now)
	return result(outcome, rollout.Soonest(again, rollout.Soonest(plan.After, plan.Rollout.After)), errors.Join(err, r.commit(ctx, nginx, next)))
}

// plan is what should exist. If canaries have to be compared with other pods for that,
// their instances are asked.
func (r *Reconciler) plan(ctx context.Context, nginx *v1alpha2.NginxOperator, state *observe.State) (*desired.Plan, desired.Blocked, error) {
	plan, blocked, err := desired.Build(nginx, *state, r.Options)
	if err == nil && plan.Trial != nil {
		state.Verdict = new(r.try(ctx, *plan.Trial))
		plan, blocked, err = desired.Build(nginx, *state, r.Options)
	}
	if err == nil && r.RenewPods {
		plan, err = r.renew(ctx, nginx, *state, plan)
	}
	return plan, blocked, err
}

// usesVolumes tells whether changes of mounted volumes make nginx reload: what comes of it emits no event.
func usesVolumes(nginx *v1alpha2.NginxOperator) bool {
	return len(nginx.Spec.TLS) > 0 || nginx.Spec.PodTemplate != nil && len(nginx.Spec.PodTemplate.ReloadOn) > 0
}

// carryOut brings the cluster to the plan, or only tells what it would have to
// change while the resource is suspended.
func (r *Reconciler) carryOut(ctx context.Context, nginx *v1alpha2.NginxOperator, plan *desired.Plan, state observe.State) (apply.Outcome, error) {
	changes, err := apply.Decide(nginx, plan, state)
	if err != nil {
		return apply.Outcome{}, fmt.Errorf("compare with the live objects: %w", err)
	}
	if nginx.Spec.Suspend != nil && *nginx.Spec.Suspend {
		return apply.Suspend(changes, plan.Asks), nil
	}
	if apply.Turns(changes) {
		if err := r.Observer.Remembers(ctx, nginx, state.History); err != nil {
			return apply.Outcome{}, err
		}
	}
	outcome, err := r.Applier.Apply(ctx, nginx, plan.Records, changes)
	if err != nil || outcome.Terminating || outcome.Lacks("ConfigMap") {
		return outcome, err
	}
	if n := len(plan.Rollout.Ask) + len(plan.Tells); n > 0 {
		log.FromContext(ctx).Info("asked pods", "revision", plan.Config.Revision, "phase", plan.Rollout.Phase, "pods", n)
	}
	r.tell(ctx, plan.Tells)
	return outcome, r.Applier.Ask(ctx, nginx.Namespace, plan.Asks)
}

// commit writes the status, at most once and only if it changed. Events are
// published after it, so that each tells of a state that has been persisted.
func (r *Reconciler) commit(ctx context.Context, nginx *v1alpha2.NginxOperator, next status.Result) error {
	if !next.Changed {
		return nil
	}
	config, err := status.ApplyConfiguration(nginx, next.Status)
	if err != nil {
		return err
	}
	err = r.Client.Status().Apply(ctx, config, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
	if err != nil {
		// The resource may have been deleted meanwhile.
		return client.IgnoreNotFound(fmt.Errorf("write the status: %w", err))
	}
	for _, e := range r.refusals.news(client.ObjectKeyFromObject(nginx), next) {
		r.Recorder.Eventf(nginx, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
	return nil
}

func result(outcome apply.Outcome, again time.Duration, err error) (ctrl.Result, error) {
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case outcome.Retry && (again == 0 || again > refusalRetry):
		again = refusalRetry
	}
	return ctrl.Result{RequeueAfter: again}, nil
}
