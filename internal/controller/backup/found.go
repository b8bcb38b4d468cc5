package backup

import (
	"context"
	"errors"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/backup/listing"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/backup/plan"
)

// sameStore tells whether a backup is reached as the policy's are.
func sameStore(policy *v1alpha1.NginxBackupPolicy, b *v1alpha1.NginxBackup) bool {
	return apiequality.Semantic.DeepEqual(policy.Spec.Destination, b.Spec.Destination)
}

// adoptAll makes objects of backups that have none. One that cannot be made does not hold up
// the others.
func (l *lister) adoptAll(ctx context.Context, found []listing.Found, backups map[string]*v1alpha1.NginxBackup) error {
	var errs []error
	for _, f := range found {
		if backups[f.Path] != nil {
			// Made since the job was started.
			continue
		}
		errs = append(errs, l.adoptOne(ctx, f))
	}
	return errors.Join(errs...)
}

// adoptOne makes the object of a backup. Whoever decides it again, after a crash or beside
// another leader, makes the same.
func (l *lister) adoptOne(ctx context.Context, f listing.Found) error {
	maker, err := l.maker(ctx, f.Policy)
	if err != nil {
		return err
	}
	b, err := listing.NewBackup(f, l.policy.Namespace, maker.Spec.Destination, maker.Spec.IncludeSecrets)
	if err != nil {
		return err
	}
	for _, name := range []string{b.Name, listing.OtherName(f)} {
		b.Name, b.ResourceVersion = name, ""
		err := l.Client.Create(ctx, b)
		if err == nil {
			log.FromContext(ctx).Info("found a backup that has no object", "backup", b.Name, "path", b.Spec.Existing.Path)
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create NginxBackup %s for %s: %w", name, b.Spec.Existing.Path, err)
		}
		live := &v1alpha1.NginxBackup{}
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(b), live); err != nil {
			return fmt.Errorf("look at NginxBackup %s: %w", name, err)
		}
		if job.Key(live) == b.Spec.Existing.Path {
			return nil
		}
	}
	return fmt.Errorf("create an NginxBackup for %s: the names %s and %s are taken: delete one of them", b.Spec.Existing.Path, b.Name, listing.OtherName(f))
}

// maker is the policy that made a backup, if it still keeps its backups here, or else the one
// that is listed.
func (l *lister) maker(ctx context.Context, name string) (*v1alpha1.NginxBackupPolicy, error) {
	if name == "" || name == l.policy.Name {
		return l.policy, nil
	}
	maker := &v1alpha1.NginxBackupPolicy{}
	err := l.Client.Get(ctx, client.ObjectKey{Namespace: l.policy.Namespace, Name: name}, maker)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err == nil && listing.Same(maker.Spec.Destination, l.policy.Spec.Destination) {
		return maker, nil
	}
	return l.policy, nil
}

// judge tells of backups whose data is not there, and of those whose data is there again.
func (l *lister) judge(ctx context.Context, report *listing.Report, backups map[string]*v1alpha1.NginxBackup) error {
	var errs []error
	for _, path := range report.Missing {
		if b := l.still(backups[path]); b != nil && !plan.Lost(b) {
			errs = append(errs, tell(ctx, l.Client, l.Recorder, b, outcome.Missing(b)))
		}
	}
	for _, path := range report.Back {
		if b := l.still(backups[path]); b != nil && plan.Lost(b) {
			errs = append(errs, tell(ctx, l.Client, l.Recorder, b, outcome.Back(b)))
		}
	}
	return errors.Join(errs...)
}

// still is a backup, if it is one whose data has to be in the destination.
func (l *lister) still(b *v1alpha1.NginxBackup) *v1alpha1.NginxBackup {
	if b == nil || b.DeletionTimestamp != nil || !plan.Written(b) || !sameStore(l.policy, b) {
		return nil
	}
	return b.DeepCopy()
}
