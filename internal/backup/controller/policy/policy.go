// Package policy reconciles NginxBackupPolicies: their status, and the listing of their destinations.
package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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
	"example.com/nginx-operator/internal/kube/statuswrite"
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

	deletions    pendingListings
	fingerprints snapshot.Fingerprints
}

// pass is one reconciliation of one policy. Each step reads what those before it found.
type pass struct {
	*Reconciler
	jobs.Set
	policy *v1alpha1.NginxBackupPolicy
	now    time.Time
	// schedule, targets and backups come from observe; or invalid, which says what is wrong with the spec.
	schedule *plan.Schedule
	targets  []plan.Target
	backups  []*v1alpha1.NginxBackup
	invalid  *plan.PolicyError
	// status comes from evaluate. The listing adds its own condition.
	status v1alpha1.NginxBackupPolicyStatus
	// after is the time until the next pass if nothing changes, or 0 if none is needed.
	after time.Duration
	// listed reports that the results of the listing job are in the cluster and in status. Until
	// the status is written, the job is the only record of what it found.
	listed bool
}

// Reconcile evaluates the targets of a policy, lists its destination if that is due, and reports both
// in its status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, err := r.observe(ctx, req.NamespacedName)
	if p == nil || err != nil {
		return ctrl.Result{}, err
	}
	if p.invalid != nil {
		return ctrl.Result{}, p.updateStatus(ctx, outcome.Refused(p.policy, p.invalid.Reason, p.invalid.Error()))
	}
	p.evaluate()
	listErr := p.listDestination(ctx)
	if err := errors.Join(p.report(ctx), listErr); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: p.after}, nil
}

// observe reads a policy with its targets and backups. It returns nil if there is nothing to do.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*pass, error) {
	p := &pass{Reconciler: r, policy: &v1alpha1.NginxBackupPolicy{}, now: r.Clock.Now()}
	if err := r.Client.Get(ctx, key, p.policy); err != nil {
		r.Runner.Queue.Remove(ctx, policyWaiter(key))
		if apierrors.IsNotFound(err) {
			r.deletions.take(key)
		}
		return nil, client.IgnoreNotFound(err)
	}
	if p.policy.DeletionTimestamp != nil {
		return nil, nil
	}
	schedule, selected, err := plan.ParsePolicy(p.policy)
	if errors.As(err, &p.invalid) {
		return p, nil
	}
	p.schedule = schedule
	if p.targets, err = r.selectTargets(ctx, p.policy, selected); err != nil {
		return nil, err
	}
	p.backups, err = controller.ListBackups(ctx, r.Client, p.policy, "")
	return p, err
}

// evaluate computes the status of the policy, and when its next backups are due.
func (p *pass) evaluate() {
	p.status = outcome.OfPolicy(p.policy, p.targets, p.backups)
	p.status.NextScheduleTime = nil
	if p.schedule != nil && !plan.Suspended(p.policy) {
		next := p.schedule.Next(p.now)
		outcome.SetNext(&p.status, next)
		p.after = next.Sub(p.now)
	}
}

// report writes the status, and then deletes a listing job whose results it records.
func (p *pass) report(ctx context.Context) error {
	if err := p.updateStatus(ctx, p.status); err != nil || !p.listed {
		return err
	}
	return p.cleanUp(ctx)
}

// selectTargets returns the NginxOperators that a policy selects.
func (r *Reconciler) selectTargets(ctx context.Context, policy *v1alpha1.NginxBackupPolicy, selected func(*v1alpha2.NginxOperator) bool) ([]plan.Target, error) {
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
		state, err := r.fingerprints.Of(nginx)
		if err != nil {
			return nil, err
		}
		targets = append(targets, plan.Target{Nginx: nginx, State: state})
	}
	return targets, nil
}

// updateStatus applies the status if it differs.
func (p *pass) updateStatus(ctx context.Context, status v1alpha1.NginxBackupPolicyStatus) error {
	if apiequality.Semantic.DeepEqual(p.policy.Status, status) {
		return nil
	}
	err := statuswrite.Apply(ctx, p.Client, controller.FieldManager, status, v1alpha1ac.NginxBackupPolicyStatus(), func(s *v1alpha1ac.NginxBackupPolicyStatusApplyConfiguration) runtime.ApplyConfiguration {
		return v1alpha1ac.NginxBackupPolicy(p.policy.Name, p.policy.Namespace).WithUID(p.policy.UID).WithStatus(s)
	})
	// The policy may have been deleted meanwhile.
	return client.IgnoreNotFound(err)
}
