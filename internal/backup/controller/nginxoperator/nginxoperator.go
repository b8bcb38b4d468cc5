// Package nginxoperator reconciles the backups of NginxOperators: it creates the ones that are due, deletes
// expired ones and opens gates.
package nginxoperator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/internal/kube/cachedcontent"
)

// Reconciler ensures that NginxOperators have the backups that policies require.
type Reconciler struct {
	Client client.Client
	Clock  clock.PassiveClock

	settling settleTracker
}

// pass is one reconciliation of one NginxOperator. Each step reads what those before it found.
type pass struct {
	nginx *v1alpha2.NginxOperator
	now   time.Time
	// policies and target come from observe.
	policies []v1alpha1.NginxBackupPolicy
	target   plan.Target
	// decisions come from decide, one for each policy.
	decisions []plan.Decision
	// failures are the errors of single policies. They do not stop the others, but no gate opens.
	failures []error
}

func (p *pass) key() types.NamespacedName { return client.ObjectKeyFromObject(p.nginx) }

// Reconcile is one pass over one NginxOperator and the policies that select it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p, err := r.observe(ctx, req.NamespacedName)
	if p == nil || err != nil {
		return ctrl.Result{}, err
	}
	if left := r.settling.reimportLeft(p.key(), p.now); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	for _, step := range []func(context.Context, *pass) error{r.decide, r.execute, r.updateGates} {
		if err := step(ctx, p); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: p.after()}, nil
}

// observe reads an NginxOperator and the policies of its namespace. It returns nil if there is
// nothing to do.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*pass, error) {
	nginx := &v1alpha2.NginxOperator{}
	if err := r.Client.Get(ctx, key, nginx); err != nil {
		// Its backups remain, so that it can be restored.
		r.settling.forget(key)
		return nil, client.IgnoreNotFound(err)
	}
	if nginx.DeletionTimestamp != nil {
		return nil, nil
	}
	policies := &v1alpha1.NginxBackupPolicyList{}
	if err := r.Client.List(ctx, policies, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the policies: %w", err)
	}
	state, err := snapshot.FingerprintOf(nginx)
	if err != nil {
		return nil, err
	}
	return &pass{nginx: nginx, now: r.Clock.Now(), policies: policies.Items, target: plan.Target{Nginx: nginx, State: state}}, nil
}

// decide decides for each policy what to do for the target.
func (r *Reconciler) decide(ctx context.Context, p *pass) error {
	p.target = r.settling.observe(p.target, p.now)
	settled := true
	for i := range p.policies {
		decision, err := r.decidePolicy(ctx, &p.policies[i], p.target, p.now)
		if err != nil {
			p.failures = append(p.failures, err)
		}
		settled = settled && decision.Settled
		p.decisions = append(p.decisions, decision)
	}
	if settled {
		r.settling.markSettled(p.key())
	}
	return nil
}

// decidePolicy decides for one policy what to do for the target.
func (r *Reconciler) decidePolicy(ctx context.Context, policy *v1alpha1.NginxBackupPolicy, target plan.Target, now time.Time) (plan.Decision, error) {
	schedule, selected, err := plan.ParsePolicy(policy)
	switch {
	case selected == nil || policy.DeletionTimestamp != nil || !selected(target.Nginx) || plan.Suspended(policy):
		return plan.Decision{Settled: true}, nil
	case err != nil:
		// The policy's status reports the error. The policy creates no backups, so it opens no
		// gate.
		return plan.Decision{Settled: true, Gate: plan.GateOf(policy), GateState: plan.GateStateOf(policy, target, nil)}, nil //nolint:nilerr // The policy reports the error itself.
	}
	backups, err := controller.ListBackups(ctx, r.Client, policy, target.Nginx.Name)
	if err != nil {
		return plan.Decision{}, err
	}
	return plan.Decide(policy, schedule, target, backups, now), nil
}

// after returns the time until the next pass if nothing changes, or 0 if none is needed.
func (p *pass) after() time.Duration {
	var after time.Duration
	for _, d := range p.decisions {
		after = plan.Soonest(after, d.After)
	}
	return after
}

// execute creates and deletes the backups of all decisions. A failure does not stop the others.
func (r *Reconciler) execute(ctx context.Context, p *pass) error {
	for _, d := range p.decisions {
		p.failures = append(p.failures, r.executeDecision(ctx, d))
	}
	return errors.Join(p.failures...)
}

func (r *Reconciler) executeDecision(ctx context.Context, d plan.Decision) error {
	for _, b := range slices.Concat(d.Obsolete, d.Expired) {
		if err := r.deleteWithData(ctx, b); err != nil {
			return fmt.Errorf("delete backup %s: %w", b.Name, err)
		}
	}
	if d.Create == nil {
		return nil
	}
	err := r.Client.Create(ctx, d.Create)
	if apierrors.IsAlreadyExists(err) {
		// An earlier pass has created it from the same state.
		return nil
	}
	if err != nil {
		return fmt.Errorf("create backup %s: %w", d.Create.Name, err)
	}
	log.FromContext(ctx).Info("a backup is due", "backup", d.Create.Name, "trigger", d.Create.Spec.Trigger,
		"reason", d.Create.Annotations[v1alpha1.AnnotationReason])
	return nil
}

// deleteWithData deletes a backup and its data. It sets the deletion policy first, so that the
// deletion includes the data. If no job was ever started, there is no data; an incomplete backup
// may have left some.
func (r *Reconciler) deleteWithData(ctx context.Context, b *v1alpha1.NginxBackup) error {
	if b.Status.StartTime == nil {
		return r.delete(ctx, b)
	}
	if b.Spec.DeletionPolicy != v1alpha1.Delete || !controllerutil.ContainsFinalizer(b, v1alpha1.Finalizer) {
		if !cachedcontent.HasAllFinalizers(b) {
			return errors.New("it has more than 16 KiB of finalizers: remove some")
		}
		expired := b.DeepCopy()
		expired.Spec.DeletionPolicy = v1alpha1.Delete
		controllerutil.AddFinalizer(expired, v1alpha1.Finalizer)
		patch := client.MergeFromWithOptions(b, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, expired, patch, client.FieldOwner(controller.FieldManager)); err != nil {
			return client.IgnoreNotFound(err)
		}
		b = expired
	}
	return r.delete(ctx, b)
}

// delete deletes a backup only if it is as it was read: a stale view may show a completed backup as
// not started.
func (r *Reconciler) delete(ctx context.Context, b *v1alpha1.NginxBackup) error {
	log.FromContext(ctx).Info("deleting a backup", "backup", b.Name, "completed", plan.Good(b))
	return client.IgnoreNotFound(r.Client.Delete(ctx, b, client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}))
}
