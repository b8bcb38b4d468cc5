package backup

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
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
	"example.com/nginx-operator/internal/backup/progress"
)

const kindPolicy = "NginxBackupPolicy"

func policyWaiter(key types.NamespacedName) waiter { return waiter{kindPolicy, key} }

// lister is one pass over the listing of one policy's destination.
type lister struct {
	*Policies
	tasks
	policy *v1alpha1.NginxBackupPolicy
	status *v1alpha1.NginxBackupPolicyStatus
	now    time.Time
}

// list brings the listing of a policy's destination on, and tells in its status how it gets on.
// It returns when to look again, and what is to be done once the status was written: until
// then, the job is the memory of what was found.
func (r *Policies) list(ctx context.Context, policy *v1alpha1.NginxBackupPolicy, status *v1alpha1.NginxBackupPolicyStatus, now time.Time) (time.Duration, func(context.Context) error, error) {
	l := &lister{Policies: r, policy: policy, status: status, now: now}
	var err error
	if l.tasks, err = r.Jobs.of(ctx, v1alpha1.LabelPolicy, policy); err != nil {
		return 0, nil, err
	}
	if suspended(policy) {
		l.Queue.leave(ctx, l.waiter())
		return 0, nil, l.tidy(ctx)
	}
	if err := l.dropOutdated(ctx); err != nil {
		return 0, nil, err
	}
	if len(l.jobs) == 0 && !r.deletions.seen(l.waiter().NamespacedName) {
		if due, after := listing.Due(policy, r.ListingPeriod, now); !due {
			return after, nil, nil
		}
	}
	verdict := progress.Judge(l.jobs, l.pods, now)
	switch verdict.Step {
	case progress.Done:
		return l.take(ctx, verdict.Result.Listing)
	case progress.Wait:
		l.waitFor(ctx, verdict)
		return verdict.After, nil, nil
	case progress.Start:
	}
	after, err := l.start(ctx, verdict)
	return after, nil, err
}

func (l *lister) waiter() waiter { return policyWaiter(client.ObjectKeyFromObject(l.policy)) }

// dropOutdated deletes jobs that list for the policy as it was: there may be another destination.
func (l *lister) dropOutdated(ctx context.Context) error {
	outdated := slices.ContainsFunc(l.jobs, func(j batchv1.Job) bool { return !job.Lists(&j, l.policy) })
	if !outdated {
		return nil
	}
	err := l.deleteJobs(ctx, l.jobs)
	l.jobs = nil
	return err
}

// waitFor tells what is in the way. What was told before is worth more than that there is
// another attempt.
func (l *lister) waitFor(ctx context.Context, verdict progress.Verdict) {
	if verdict.Reason == v1alpha1.ReasonInProgress {
		l.underway()
		return
	}
	if verdict.Reason == v1alpha1.ReasonPodNotStarted {
		l.Queue.move(ctx)
	}
	outcome.NotListed(l.policy, l.status, verdict.Reason, verdict.Message)
}

// underway tells that the destination is being listed, unless it was before, or failed.
func (l *lister) underway() {
	for _, c := range l.status.Conditions {
		if c.Type == v1alpha1.ConditionListed && c.ObservedGeneration == l.policy.Generation {
			return
		}
	}
	outcome.Listing(l.policy, l.status)
}

// start starts a job that knows which backups have objects.
func (l *lister) start(ctx context.Context, verdict progress.Verdict) (time.Duration, error) {
	if err := l.current(ctx); err != nil {
		return 0, err
	}
	key := l.waiter().NamespacedName
	// What is deleted from now on may be known still.
	deleted := l.deletions.take(key)
	started, err := l.Queue.start(ctx, l.waiter(), func() error { return l.startListing(ctx, verdict.Attempt) })
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
		l.underway()
		return queuePause, nil
	}
	l.waitFor(ctx, verdict)
	return 0, nil
}

func (l *lister) startListing(ctx context.Context, attempt int) error {
	backups, err := l.backups(ctx)
	if err != nil {
		return err
	}
	pieces, err := job.KnownPieces(l.policy, knownOf(l.policy, backups))
	if err != nil {
		return err
	}
	for _, piece := range pieces {
		if err := l.Live.Create(ctx, piece); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("write down the known backups in ConfigMap %s: %w", piece.Name, err)
		}
	}
	j, err := job.ForList(l.policy, pieces, attempt, l.Image)
	if err != nil {
		return err
	}
	return l.startJob(ctx, j)
}

// backups are those of the namespace in the destination of the policy, by their paths below the
// folder of the namespace.
func (l *lister) backups(ctx context.Context) (map[string]*v1alpha1.NginxBackup, error) {
	list := &v1alpha1.NginxBackupList{}
	if err := l.Client.List(ctx, list, client.InNamespace(l.policy.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	return listing.ByPath(l.policy, list.Items, job.Key), nil
}

// knownOf is what is expected of the data of backups. Of one that another Secret reaches,
// nothing is: it may be in another account.
func knownOf(policy *v1alpha1.NginxBackupPolicy, backups map[string]*v1alpha1.NginxBackup) listing.Known {
	known := listing.Known{}
	for path, b := range backups {
		switch {
		case b.DeletionTimestamp != nil || !plan.Written(b) || !sameStore(policy, b):
			known[path] = listing.Open
		case plan.Lost(b):
			known[path] = listing.Lost
		default:
			known[path] = listing.Expected
		}
	}
	return known
}

// take makes objects of the backups that were found, and tells of those that were not.
func (l *lister) take(ctx context.Context, report *listing.Report) (time.Duration, func(context.Context) error, error) {
	if report == nil {
		return 0, nil, errors.New("the job that lists has told something else")
	}
	backups, err := l.backups(ctx)
	if err != nil {
		return 0, nil, err
	}
	if err := errors.Join(l.adoptAll(ctx, report.Found, backups), l.judge(ctx, report, backups)); err != nil {
		outcome.NotListed(l.policy, l.status, v1alpha1.ReasonBackupNotCreated, err.Error())
		return 0, nil, err
	}
	if report.More {
		outcome.Listing(l.policy, l.status)
		return gatherNews, l.tidy, nil
	}
	newest := slices.MaxFunc(l.jobs, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	outcome.Listed(l.policy, l.status, report, newest.CreationTimestamp.Time)
	if l.ListingPeriod == 0 {
		return 0, l.tidy, nil
	}
	return l.ListingPeriod, l.tidy, nil
}

// tidy removes what the job needed, and then the job.
func (l *lister) tidy(ctx context.Context) error {
	if len(l.jobs) == 0 {
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
		if !owned(piece, l.policy.UID) {
			continue
		}
		if err := l.Live.Delete(ctx, piece, client.Preconditions{UID: &piece.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete ConfigMap %s: %w", piece.Name, err)
		}
	}
	return l.deleteJobs(ctx, l.jobs)
}
