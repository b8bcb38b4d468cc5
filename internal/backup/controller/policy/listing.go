package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller/jobs"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/progress"
)

// Kind is the kind that the controller reconciles.
const Kind = "NginxBackupPolicy"

func policyWaiter(key types.NamespacedName) jobs.Waiter {
	return jobs.Waiter{Kind: Kind, NamespacedName: key}
}

// listingPass is one pass over the listing of a policy's destination.
type listingPass struct {
	*Reconciler
	jobs.Set
	policy *v1alpha1.NginxBackupPolicy
	status *v1alpha1.NginxBackupPolicyStatus
	now    time.Time
}

// listDestination continues the listing of a policy's destination and reports its progress in
// status. It returns when to continue, and a function to call after the status was written: until
// then, the job is the only record of what it found.
func (r *Reconciler) listDestination(ctx context.Context, policy *v1alpha1.NginxBackupPolicy, status *v1alpha1.NginxBackupPolicyStatus, now time.Time) (time.Duration, func(context.Context) error, error) {
	l := &listingPass{Reconciler: r, policy: policy, status: status, now: now}
	var err error
	if l.Set, err = r.Runner.List(ctx, v1alpha1.LabelPolicy, policy); err != nil {
		return 0, nil, err
	}
	if plan.Suspended(policy) {
		l.Queue.Remove(ctx, l.waiter())
		return 0, nil, l.cleanUp(ctx)
	}
	if err := l.dropOutdated(ctx); err != nil {
		return 0, nil, err
	}
	if len(l.Jobs) == 0 && !r.deletions.has(l.waiter().NamespacedName) {
		if due, after := listing.Due(policy, r.ListingPeriod, now); !due {
			return after, nil, nil
		}
	}
	verdict := progress.Evaluate(l.Jobs, l.Pods, now)
	switch verdict.Action {
	case progress.Done:
		return l.importListing(ctx, verdict.Result.Listing)
	case progress.Wait:
		l.setWaiting(ctx, verdict)
		return verdict.After, nil, nil
	case progress.Start:
	}
	after, err := l.start(ctx, verdict)
	return after, nil, err
}

func (l *listingPass) waiter() jobs.Waiter { return policyWaiter(client.ObjectKeyFromObject(l.policy)) }

// dropOutdated deletes jobs of an earlier spec: the destination may have changed.
func (l *listingPass) dropOutdated(ctx context.Context) error {
	outdated := slices.ContainsFunc(l.Jobs, func(j batchv1.Job) bool { return !job.Lists(&j, l.policy) })
	if !outdated {
		return nil
	}
	err := l.DeleteJobs(ctx, l.Jobs)
	l.Jobs = nil
	return err
}

// setWaiting reports what the listing waits for. It keeps the message of an attempt that failed,
// which says more than that another one is running.
func (l *listingPass) setWaiting(ctx context.Context, verdict progress.Verdict) {
	if verdict.Reason == v1alpha1.ReasonInProgress {
		l.setListing()
		return
	}
	if verdict.Reason == v1alpha1.ReasonPodNotStarted {
		l.Queue.WakeNext(ctx)
	}
	outcome.NotListed(l.policy, l.status, verdict.Reason, verdict.Message)
}

// setListing reports that the destination is being listed, unless an earlier listing has a result.
func (l *listingPass) setListing() {
	for _, c := range l.status.Conditions {
		if c.Type == v1alpha1.ConditionListed && c.ObservedGeneration == l.policy.Generation {
			return
		}
	}
	outcome.Listing(l.policy, l.status)
}

// start starts a job, which receives the list of backups that have objects.
func (l *listingPass) start(ctx context.Context, verdict progress.Verdict) (time.Duration, error) {
	if err := l.VerifyFresh(ctx); err != nil {
		return 0, err
	}
	key := l.waiter().NamespacedName
	// A backup that is deleted from here on may still be on that list.
	deleted := l.deletions.take(key)
	started, err := l.Queue.Start(ctx, l.waiter(), func() error { return l.startListing(ctx, verdict.Attempt) })
	if deleted && (err != nil || !started) {
		l.deletions.note(key)
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return 0, nil
	case err != nil:
		outcome.NotListed(l.policy, l.status, v1alpha1.ReasonJobNotCreated, err.Error())
		return 0, err
	case !started:
		l.setListing()
		return jobs.QueueRetry, nil
	}
	l.setWaiting(ctx, verdict)
	return 0, nil
}

func (l *listingPass) startListing(ctx context.Context, attempt int) error {
	backups, err := l.backups(ctx)
	if err != nil {
		return err
	}
	pieces, err := job.KnownPieces(l.policy, expectedBackups(l.policy, backups))
	if err != nil {
		return err
	}
	for _, piece := range pieces {
		if err := l.Live.Create(ctx, piece); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("record the known backups in ConfigMap %s: %w", piece.Name, err)
		}
	}
	j, err := job.ForList(l.policy, pieces, attempt, l.Image)
	if err != nil {
		return err
	}
	return l.StartJob(ctx, j)
}

// backups returns the backups of the namespace in the policy's destination, by their paths below
// the folder of the namespace.
func (l *listingPass) backups(ctx context.Context) (map[string]*v1alpha1.NginxBackup, error) {
	list := &v1alpha1.NginxBackupList{}
	if err := l.Client.List(ctx, list, client.InNamespace(l.policy.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	return listing.ByPath(l.policy, list.Items, job.Key), nil
}

// expectedBackups returns which data the listing should find. It expects nothing of a backup with
// another Secret, whose data may be in another account.
func expectedBackups(policy *v1alpha1.NginxBackupPolicy, backups map[string]*v1alpha1.NginxBackup) listing.Known {
	known := listing.Known{}
	for path, b := range backups {
		switch {
		case b.DeletionTimestamp != nil || !plan.Written(b) || !equalDestination(policy, b):
			known[path] = listing.Open
		case plan.Lost(b):
			known[path] = listing.Lost
		default:
			known[path] = listing.Expected
		}
	}
	return known
}

// importListing creates objects for the backups that were found, and reports those that are
// missing.
func (l *listingPass) importListing(ctx context.Context, report *listing.Report) (time.Duration, func(context.Context) error, error) {
	if report == nil {
		return 0, nil, errors.New("the result of the listing job has no report")
	}
	backups, err := l.backups(ctx)
	if err != nil {
		return 0, nil, err
	}
	if err := errors.Join(l.importBackups(ctx, report.Found, backups), l.reportMissing(ctx, report, backups)); err != nil {
		outcome.NotListed(l.policy, l.status, v1alpha1.ReasonBackupNotCreated, err.Error())
		return 0, nil, err
	}
	if report.More {
		outcome.Listing(l.policy, l.status)
		return batchPeriod, l.cleanUp, nil
	}
	newest := slices.MaxFunc(l.Jobs, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	outcome.Listed(l.policy, l.status, report, newest.CreationTimestamp.Time)
	if l.ListingPeriod == 0 {
		return 0, l.cleanUp, nil
	}
	return l.ListingPeriod, l.cleanUp, nil
}

// cleanUp deletes what the job needed, and then the job.
func (l *listingPass) cleanUp(ctx context.Context) error {
	if len(l.Jobs) == 0 {
		return nil
	}
	pieces := &metav1.PartialObjectMetadataList{}
	pieces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	selector := client.MatchingLabels{v1alpha1.LabelPolicy: l.policy.Name, job.LabelTask: string(job.List)}
	if err := l.Live.List(ctx, pieces, client.InNamespace(l.policy.Namespace), selector); err != nil {
		return fmt.Errorf("list the ConfigMaps of the listing: %w", err)
	}
	for i := range pieces.Items {
		piece := &pieces.Items[i]
		if !jobs.Owned(piece, l.policy.UID) {
			continue
		}
		if err := l.Live.Delete(ctx, piece, client.Preconditions{UID: &piece.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s: %w", piece.Name, err)
		}
	}
	return l.DeleteJobs(ctx, l.Jobs)
}
