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

// listDestination continues the listing of the destination, and reports its progress in the status.
func (p *pass) listDestination(ctx context.Context) (err error) {
	if p.Set, err = p.Reconciler.Runner.List(ctx, v1alpha1.LabelPolicy, p.policy); err != nil {
		return err
	}
	if plan.Suspended(p.policy) {
		p.Queue.Remove(ctx, p.waiter())
		return p.cleanUp(ctx)
	}
	if err := p.deleteOutdatedJobs(ctx); err != nil {
		return err
	}
	if len(p.MarkedJobs(job.List)) == 0 && !p.deletions.has(p.waiter().NamespacedName) {
		if due, after := listing.Due(p.policy, p.ListingPeriod, p.now); !due {
			p.requeueAfter(after)
			return nil
		}
	}
	verdict := p.Evaluate(job.List, p.now)
	switch verdict.Action {
	case progress.Done:
		return p.importListing(ctx, verdict.Result.Listing)
	case progress.Wait:
		p.setWaiting(ctx, verdict)
		p.requeueAfter(verdict.After)
		return nil
	case progress.Start:
	}
	return p.start(ctx, verdict)
}

// requeueAfter brings the next pass forward; 0 does not.
func (p *pass) requeueAfter(after time.Duration) { p.after = plan.Soonest(p.after, after) }

func (p *pass) waiter() jobs.Waiter { return policyWaiter(client.ObjectKeyFromObject(p.policy)) }

// deleteOutdatedJobs deletes jobs of an earlier spec: the destination may have changed.
func (p *pass) deleteOutdatedJobs(ctx context.Context) error {
	outdated := slices.ContainsFunc(p.MarkedJobs(job.List), func(j batchv1.Job) bool { return !job.Lists(&j, p.policy) })
	if !outdated {
		return nil
	}
	err := p.DeleteJobs(ctx, p.Jobs)
	p.Jobs = nil
	return err
}

// setWaiting reports what the listing waits for. It keeps the message of an attempt that failed,
// which says more than that another one is running.
func (p *pass) setWaiting(ctx context.Context, verdict progress.Verdict) {
	if verdict.Reason == v1alpha1.ReasonInProgress {
		p.setListing()
		return
	}
	if verdict.Reason == v1alpha1.ReasonPodNotStarted {
		p.Queue.WakeNext(ctx)
	}
	outcome.NotListed(p.policy, &p.status, verdict.Reason, verdict.Message)
}

// setListing reports that the destination is being listed, unless an earlier listing has a result.
func (p *pass) setListing() {
	for _, c := range p.status.Conditions {
		if c.Type == v1alpha1.ConditionListed && c.ObservedGeneration == p.policy.Generation {
			return
		}
	}
	outcome.ListingInProgress(p.policy, &p.status)
}

// start starts a job, which receives the list of backups that have objects.
func (p *pass) start(ctx context.Context, verdict progress.Verdict) error {
	if err := p.VerifyFresh(ctx); err != nil {
		return err
	}
	key := p.waiter().NamespacedName
	// A backup that is deleted from here on may still be on that list.
	deleted := p.deletions.take(key)
	started, err := p.Queue.StartOrEnqueue(ctx, p.waiter(), func() error { return p.startListing(ctx, verdict.Attempt) })
	if deleted && (err != nil || !started) {
		p.deletions.note(key)
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case err != nil:
		outcome.NotListed(p.policy, &p.status, v1alpha1.ReasonJobNotCreated, err.Error())
		return err
	case !started:
		p.setListing()
		p.requeueAfter(jobs.QueueRetry)
		return nil
	}
	p.setWaiting(ctx, verdict)
	return nil
}

func (p *pass) startListing(ctx context.Context, attempt int) error {
	backups, err := p.inDestination(ctx)
	if err != nil {
		return err
	}
	pieces, err := job.KnownPieces(p.policy, expectedBackups(p.policy, backups))
	if err != nil {
		return err
	}
	for _, piece := range pieces {
		if err := p.Live.Create(ctx, piece); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("record the known backups in ConfigMap %s: %w", piece.Name, err)
		}
	}
	j, err := job.ForList(p.policy, pieces, attempt, p.PodOptions)
	if err != nil {
		return err
	}
	return p.StartJob(ctx, j)
}

// inDestination returns the backups of the namespace in the policy's destination, by their paths below
// the folder of the namespace.
func (p *pass) inDestination(ctx context.Context) (map[string]*v1alpha1.NginxBackup, error) {
	list := &v1alpha1.NginxBackupList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.policy.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the backups: %w", err)
	}
	return listing.ByPath(p.policy, list.Items, job.Key), nil
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
func (p *pass) importListing(ctx context.Context, report *listing.Report) error {
	backups, err := p.inDestination(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(p.importBackups(ctx, report.Found, backups), p.reportMissing(ctx, report, backups)); err != nil {
		outcome.NotListed(p.policy, &p.status, v1alpha1.ReasonBackupNotCreated, err.Error())
		return err
	}
	p.listed = true
	if report.More {
		outcome.ListingInProgress(p.policy, &p.status)
		p.requeueAfter(batchPeriod)
		return nil
	}
	newest := slices.MaxFunc(p.MarkedJobs(job.List), func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	outcome.Listed(p.policy, &p.status, report, newest.CreationTimestamp.Time)
	p.requeueAfter(p.ListingPeriod)
	return nil
}

// cleanUp deletes what the job needed, and then the job.
func (p *pass) cleanUp(ctx context.Context) error {
	if len(p.Jobs) == 0 {
		return nil
	}
	labels := client.MatchingLabels{v1alpha1.LabelPolicy: p.policy.Name, job.LabelTask: string(job.List)}
	if err := jobs.DeleteConfigMaps(ctx, p.Live, p.policy.Namespace, labels, p.policy.UID); err != nil {
		return err
	}
	return p.DeleteJobs(ctx, p.Jobs)
}
