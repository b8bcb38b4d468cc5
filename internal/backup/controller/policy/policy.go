// Package policy reconciles NginxBackupPolicies: their status, and the listing of their destinations.
package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	v1alpha1ac "example.com/nginx-operator/api/backup/v1alpha1/applyconfiguration/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// Reconciler reports how the targets of each NginxBackupPolicy are, and ensures that every backup
// in its destination has an object.
type Reconciler struct {
	Client client.Client
	// Live bypasses the caches.
	Live     client.Client
	Runner   *jobs.Runner
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// ListingPeriod is the interval at which each destination is listed; 0: only after changes.
	ListingPeriod time.Duration

	deletions pendingListings
}

// Reconcile lists the destination of a policy if that is due, and writes its status if it differs.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	policy := &v1alpha1.NginxBackupPolicy{}
	if err := r.Client.Get(ctx, req.NamespacedName, policy); err != nil {
		r.Runner.Queue.Remove(ctx, policyWaiter(req.NamespacedName))
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if policy.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	schedule, selected, err := plan.ParsePolicy(policy)
	if bad := (*plan.PolicyError)(nil); errors.As(err, &bad) {
		return ctrl.Result{}, r.updateStatus(ctx, policy, outcome.Refused(policy, bad.Reason, bad.Error()))
	}
	targets, err := r.targets(ctx, policy, selected)
	if err != nil {
		return ctrl.Result{}, err
	}
	backups, err := controller.ListBackups(ctx, r.Client, policy, "")
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	result := ctrl.Result{}
	status := outcome.OfPolicy(policy, targets, backups)
	if schedule != nil && !plan.Suspended(policy) {
		next := schedule.Next(now)
		outcome.SetNext(&status, next)
		result.RequeueAfter = next.Sub(now)
	} else {
		status.NextScheduleTime = nil
	}
	after, cleanUp, listErr := r.listDestination(ctx, policy, &status, now)
	result.RequeueAfter = plan.Soonest(result.RequeueAfter, after)
	err = r.updateStatus(ctx, policy, status)
	if err == nil && cleanUp != nil {
		err = cleanUp(ctx)
	}
	if err := errors.Join(err, listErr); err != nil {
		return ctrl.Result{}, err
	}
	return result, nil
}

// targets returns the NginxOperators that a policy selects.
func (r *Reconciler) targets(ctx context.Context, policy *v1alpha1.NginxBackupPolicy, selected func(*v1alpha2.NginxOperator) bool) ([]plan.Target, error) {
	list := &v1alpha2.NginxOperatorList{}
	if err := r.Client.List(ctx, list, client.InNamespace(policy.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the NginxOperators: %w", err)
	}
	var targets []plan.Target
	for i := range list.Items {
		nginx := &list.Items[i]
		if nginx.DeletionTimestamp != nil || !selected(nginx) {
			continue
		}
		state, err := snapshot.StateOf(nginx)
		if err != nil {
			return nil, err
		}
		targets = append(targets, plan.Target{Nginx: nginx, State: state})
	}
	return targets, nil
}

func (r *Reconciler) updateStatus(ctx context.Context, policy *v1alpha1.NginxBackupPolicy, status v1alpha1.NginxBackupPolicyStatus) error {
	if apiequality.Semantic.DeepEqual(policy.Status, status) {
		return nil
	}
	return controller.ApplyStatus(ctx, r.Client, status, v1alpha1ac.NginxBackupPolicyStatus(), func(s *v1alpha1ac.NginxBackupPolicyStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxBackupPolicy(policy.Name, policy.Namespace).WithUID(policy.UID).WithStatus(s)
	})
}
