package nginx

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/desired"
	"example.com/nginx-operator/internal/history"
	"example.com/nginx-operator/internal/observe"
	"example.com/nginx-operator/internal/rollout"
)

// renewalPause is how often an application whose turn has not come asks again.
const renewalPause = 15 * time.Second

// renewals gives the pods of all applications the template of this release, one
// application at a time. What has failed stands in the history of the application that it
// failed for, and holds up all others, so the release can be looked at before it is
// everywhere.
type renewals struct {
	mu sync.Mutex
	// turn is whose pods are being renewed. It only keeps two passes at the same time from
	// beginning with one application each: a restarted operator finds it in the histories.
	turn types.NamespacedName
}

// renew is plan with the pods renewed, if they can be and it is the application's turn.
func (r *Reconciler) renew(ctx context.Context, nginx *v1alpha2.NginxOperator, state observe.State, plan *desired.Plan) (*desired.Plan, error) {
	key := client.ObjectKeyFromObject(nginx)
	if !renewable(nginx, plan) {
		// What it has begun is in its history.
		r.renewals.end(key)
		return plan, nil
	}
	state.Renew = true
	renewed, _, err := desired.Build(nginx, state, r.Options)
	if err != nil {
		return plan, fmt.Errorf("renew the pods: %w", err)
	}
	if renewed.Template == plan.Template {
		r.renewals.end(key)
		if renewed.Failure != nil || renewed.Waiting != nil {
			// It has been tried, or waits: the status tells, as long as renewing is what is asked for.
			return renewed, nil
		}
		return plan, nil
	}
	free, err := r.take(ctx, key)
	if err != nil {
		return plan, err
	}
	if !free {
		plan.After = rollout.Soonest(plan.After, renewalPause)
		return plan, nil
	}
	log.FromContext(ctx).Info("renewing the pods", "template", renewed.Template, "before", plan.Template)
	return renewed, nil
}

// renewable tells whether an application is at rest, as far as its own plan goes.
func renewable(nginx *v1alpha2.NginxOperator, plan *desired.Plan) bool {
	suspended := nginx.Spec.Suspend != nil && *nginx.Spec.Suspend
	return plan.Settled && plan.Failure == nil && !plan.Pinned && plan.Waiting == nil && !suspended
}

// take tells whether it is an application's turn now. The histories are looked at when nobody else can begin: who has
// ended its turn is in them.
func (r *Reconciler) take(ctx context.Context, key types.NamespacedName) (bool, error) {
	if !r.renewals.begin(key) {
		return false, nil
	}
	free, err := r.noneUnsettled(ctx)
	if !free || err != nil {
		r.renewals.end(key)
	}
	return free, err
}

func (w *renewals) begin(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn.Name != "" && w.turn != key {
		return false
	}
	w.turn = key
	return true
}

// end lets others have their turn.
func (w *renewals) end(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turn == key {
		w.turn = types.NamespacedName{}
	}
}

// noneUnsettled tells whether no renewal is under way or has failed.
func (r *Reconciler) noneUnsettled(ctx context.Context) (bool, error) {
	list := &appsv1.ControllerRevisionList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("list all histories: %w", err)
	}
	h := history.Read(list.Items)
	for i := range h {
		if h[i].OfOperator() && h[i].Unsettled() {
			return false, nil
		}
	}
	return true, nil
}
