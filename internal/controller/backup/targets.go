package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/location"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// Targets sees to it that NginxOperators have the backups that policies ask for.
type Targets struct {
	Client client.Client
	Clock  clock.PassiveClock

	rest rest
}

// Reconcile is one pass over one NginxOperator and the policies that select it.
func (r *Targets) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	nginx := &v1alpha2.NginxOperator{}
	if err := r.Client.Get(ctx, req.NamespacedName, nginx); err != nil {
		// Its backups stay: they are what it can be brought back from.
		r.rest.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if nginx.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	policies := &v1alpha1.NginxBackupPolicyList{}
	if err := r.Client.List(ctx, policies, client.InNamespace(req.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the policies: %w", err)
	}
	state, err := snapshot.StateOf(nginx)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	if left := r.rest.mourns(req.NamespacedName, now); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	target := r.rest.see(plan.Target{Nginx: nginx, State: state}, now)
	var after time.Duration
	var errs []error
	atRest, operated := true, gates{}
	for i := range policies.Items {
		decision, err := r.pursue(ctx, &policies.Items[i], target, now)
		after = plan.Soonest(after, decision.After)
		atRest = atRest && decision.AtRest
		operated.note(decision)
		errs = append(errs, err)
	}
	if atRest {
		r.rest.settled(req.NamespacedName)
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.operate(ctx, nginx, operated); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: after}, nil
}

// pursue does what a policy asks for.
func (r *Targets) pursue(ctx context.Context, policy *v1alpha1.NginxBackupPolicy, target plan.Target, now time.Time) (plan.Decision, error) {
	schedule, selected, err := accept(policy)
	switch {
	case selected == nil || policy.DeletionTimestamp != nil || !selected(target.Nginx) || suspended(policy):
		return plan.Decision{AtRest: true}, nil
	case err != nil:
		// What is wrong with the policy is in its status. It takes no backups, and so opens no gate.
		return plan.Decision{AtRest: true, Gate: plan.GateOf(policy), Passage: plan.PassageOf(policy, target, nil)}, nil //nolint:nilerr // see above
	}
	backups, err := backupsOf(ctx, r.Client, policy, target.Nginx.Name)
	if err != nil {
		return plan.Decision{}, err
	}
	decision := plan.Decide(policy, schedule, target, backups, now)
	return decision, r.carryOut(ctx, decision)
}

func (r *Targets) carryOut(ctx context.Context, d plan.Decision) error {
	for _, b := range slices.Concat(d.Obsolete, d.Expired) {
		if err := r.discard(ctx, b); err != nil {
			return fmt.Errorf("delete backup %s: %w", b.Name, err)
		}
	}
	if d.Create == nil {
		return nil
	}
	err := r.Client.Create(ctx, d.Create)
	if apierrors.IsAlreadyExists(err) {
		// Decided before, from the same state.
		return nil
	}
	if err != nil {
		return fmt.Errorf("create backup %s: %w", d.Create.Name, err)
	}
	log.FromContext(ctx).Info("a backup is due", "backup", d.Create.Name, "trigger", d.Create.Spec.Trigger,
		"reason", d.Create.Annotations[v1alpha1.AnnotationReason])
	return nil
}

// discard deletes a backup and its data. The first write makes the second one mean that. Where
// no job was ever started, there is no data; one that was not completed may have left some.
func (r *Targets) discard(ctx context.Context, b *v1alpha1.NginxBackup) error {
	if b.Status.StartTime == nil {
		return r.delete(ctx, b)
	}
	if b.Spec.DeletionPolicy != v1alpha1.Delete || !controllerutil.ContainsFinalizer(b, v1alpha1.Finalizer) {
		expired := b.DeepCopy()
		expired.Spec.DeletionPolicy = v1alpha1.Delete
		controllerutil.AddFinalizer(expired, v1alpha1.Finalizer)
		patch := client.MergeFromWithOptions(b, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, expired, patch, client.FieldOwner(FieldManager)); err != nil {
			return client.IgnoreNotFound(err)
		}
		b = expired
	}
	return r.delete(ctx, b)
}

// delete deletes a backup as it was looked at: in an old view, one that is completed may not have begun yet.
func (r *Targets) delete(ctx context.Context, b *v1alpha1.NginxBackup) error {
	log.FromContext(ctx).Info("deleting a backup", "backup", b.Name, "completed", plan.Good(b))
	return client.IgnoreNotFound(r.Client.Delete(ctx, b, client.Preconditions{UID: &b.UID, ResourceVersion: &b.ResourceVersion}))
}

// accept understands a policy, or tells what is wrong with it. If it can be told whom the policy
// selects, selected is not nil.
func accept(policy *v1alpha1.NginxBackupPolicy) (schedule *plan.Schedule, selected func(*v1alpha2.NginxOperator) bool, err error) {
	if selected, err = selection(policy); err != nil {
		return nil, nil, &policyError{v1alpha1.ReasonSelectorInvalid, fmt.Errorf("selector: %w", err)}
	}
	if _, err := location.Parse(policy.Spec.Destination.URL); err != nil {
		return nil, selected, &policyError{v1alpha1.ReasonDestinationInvalid, err}
	}
	if t := policy.Spec.Triggers.Schedule; t != nil {
		if schedule, err = plan.ParseSchedule(t); err != nil {
			return nil, selected, &policyError{v1alpha1.ReasonScheduleInvalid, err}
		}
	}
	return schedule, selected, nil
}

// selection tells which NginxOperators a policy selects.
func selection(policy *v1alpha1.NginxBackupPolicy) (func(*v1alpha2.NginxOperator) bool, error) {
	if t := policy.Spec.Target; t != nil {
		return func(nginx *v1alpha2.NginxOperator) bool { return nginx.Name == t.Name }, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(policy.Spec.Selector)
	if err != nil {
		return nil, err
	}
	return func(nginx *v1alpha2.NginxOperator) bool { return selector.Matches(labels.Set(nginx.Labels)) }, nil
}

// policyError is what is wrong with a policy.
type policyError struct {
	reason string
	err    error
}

func (e *policyError) Error() string { return e.err.Error() }

func suspended(policy *v1alpha1.NginxBackupPolicy) bool {
	return policy.Spec.Suspend != nil && *policy.Spec.Suspend
}

// backupsOf are the backups that a policy made of a target; of all its targets, if that is empty.
func backupsOf(ctx context.Context, c client.Reader, policy *v1alpha1.NginxBackupPolicy, target string) ([]*v1alpha1.NginxBackup, error) {
	which := []client.ListOption{client.InNamespace(policy.Namespace), client.MatchingLabels{v1alpha1.LabelPolicy: policy.Name}, client.UnsafeDisableDeepCopy}
	if target != "" {
		which = append(which, client.MatchingFields{byTarget: target})
	}
	list := &v1alpha1.NginxBackupList{}
	if err := c.List(ctx, list, which...); err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	backups := make([]*v1alpha1.NginxBackup, 0, len(list.Items))
	for i := range list.Items {
		backups = append(backups, &list.Items[i])
	}
	return backups, nil
}
