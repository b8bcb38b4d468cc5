package controller

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/plan"
)

// TargetChanged passes updates of an NginxOperator that may change a decision about its backups.
// The frequent updates of its pods' state do not.
func TargetChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha2.NginxOperator)
		after, ok2 := e.ObjectNew.(*v1alpha2.NginxOperator)
		// A gate is opened only if the status describes the current spec.
		if !ok1 || !ok2 || before.Generation != after.Generation || plan.StatusIsCurrent(before) != plan.StatusIsCurrent(after) ||
			!apiequality.Semantic.DeepEqual(before.Labels, after.Labels) ||
			plan.Moving(before) != plan.Moving(after) || plan.Ended(before) != plan.Ended(after) ||
			!apiequality.Semantic.DeepEqual(before.Status.WaitingRollout, after.Status.WaitingRollout) {
			return true
		}
		b, a := before.Status.Config, after.Status.Config
		return (b == nil) != (a == nil) || a != nil && (b.Revision != a.Revision || b.StableRevision != a.StableRevision)
	}}
}

// BackupChanged passes updates of an NginxBackup that may change a decision about others.
func BackupChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.NginxBackup)
		after, ok2 := e.ObjectNew.(*v1alpha1.NginxBackup)
		return !ok1 || !ok2 || before.Generation != after.Generation ||
			(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
			!apiequality.Semantic.DeepEqual(before.Status, after.Status)
	}}
}

// BackupCompleted passes the update that reports a backup completed, since no other event follows
// that would clean up after its job, and the one that finds its data again.
func BackupCompleted() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok1 := e.ObjectOld.(*v1alpha1.NginxBackup)
		after, ok2 := e.ObjectNew.(*v1alpha1.NginxBackup)
		return ok1 && ok2 && (!plan.Good(before) && plan.Good(after) || plan.Lost(before) && !plan.Lost(after))
	}}
}

// Created passes only the creation of objects.
func Created() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
