package policy

import (
	"context"
	"errors"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
)

// equalDestination reports whether a backup has the policy's destination and credentials.
func equalDestination(policy *v1alpha1.NginxBackupPolicy, b *v1alpha1.NginxBackup) bool {
	return apiequality.Semantic.DeepEqual(policy.Spec.Destination, b.Spec.Destination)
}

// importBackups creates the objects of backups that have none. A failure does not stop the others.
func (p *pass) importBackups(ctx context.Context, found []listing.FoundBackup, backups map[string]*v1alpha1.NginxBackup) error {
	var errs []error
	for _, f := range found {
		if backups[f.Path] != nil {
			// It was created after the job had started.
			continue
		}
		errs = append(errs, p.importBackup(ctx, f))
	}
	return errors.Join(errs...)
}

// importBackup creates the object of a backup. The name follows from the backup, so that a
// repetition, or another leader, creates the same object.
func (p *pass) importBackup(ctx context.Context, f listing.FoundBackup) error {
	maker, err := p.originPolicy(ctx, f.Policy)
	if err != nil {
		return err
	}
	b, err := listing.NewBackup(f, p.policy.Namespace, &maker.Spec)
	if err != nil {
		return err
	}
	for _, name := range []string{b.Name, listing.OtherName(f)} {
		b.Name, b.ResourceVersion = name, ""
		err := p.Client.Create(ctx, b)
		if err == nil {
			log.FromContext(ctx).Info("found a backup without an NginxBackup", "backup", b.Name, "path", b.Spec.Existing.Path)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create NginxBackup %s for %s: %w", name, b.Spec.Existing.Path, err)
		}
		live := &v1alpha1.NginxBackup{}
		if err := p.Client.Get(ctx, client.ObjectKeyFromObject(b), live); err != nil {
			return fmt.Errorf("read NginxBackup %s: %w", name, err)
		}
		if job.Key(live) == b.Spec.Existing.Path {
			return nil
		}
	}
	return fmt.Errorf("create an NginxBackup for %s: the names %s and %s are taken: delete one of them", b.Spec.Existing.Path, b.Name, listing.OtherName(f))
}

// originPolicy returns the policy that created a backup, if its destination is still this one;
// otherwise the policy that is listed.
func (p *pass) originPolicy(ctx context.Context, name string) (*v1alpha1.NginxBackupPolicy, error) {
	if name == "" || name == p.policy.Name {
		return p.policy, nil
	}
	maker := &v1alpha1.NginxBackupPolicy{}
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.policy.Namespace, Name: name}, maker)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err == nil && listing.SameDestination(maker.Spec.Destination, p.policy.Spec.Destination) {
		return maker, nil
	}
	return p.policy, nil
}

// reportMissing reports backups whose data is missing, and those whose data is there again.
func (p *pass) reportMissing(ctx context.Context, report *listing.Report, backups map[string]*v1alpha1.NginxBackup) error {
	var errs []error
	for _, path := range report.Missing {
		if b := p.expectedInStore(backups[path]); b != nil && !plan.Lost(b) {
			errs = append(errs, controller.UpdateBackupStatus(ctx, p.Client, p.Recorder, b, outcome.Missing(b)))
		}
	}
	for _, path := range report.Back {
		if b := p.expectedInStore(backups[path]); b != nil && plan.Lost(b) {
			errs = append(errs, controller.UpdateBackupStatus(ctx, p.Client, p.Recorder, b, outcome.DataFoundAgain(b)))
		}
	}
	return errors.Join(errs...)
}

// expectedInStore returns a backup if its data must be in the destination, and nil otherwise.
func (p *pass) expectedInStore(b *v1alpha1.NginxBackup) *v1alpha1.NginxBackup {
	if b == nil || b.DeletionTimestamp != nil || !plan.Written(b) || !equalDestination(p.policy, b) {
		return nil
	}
	return b.DeepCopy()
}
