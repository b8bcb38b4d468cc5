package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// ReadBackups returns the backups of a namespace, or of all, the newest first. A name selects those of one application.
func ReadBackups(ctx context.Context, c client.Client, namespace, application string) ([]backupv1alpha1.NginxBackup, error) {
	found := &backupv1alpha1.NginxBackupList{}
	if err := c.List(ctx, found, client.InNamespace(namespace)); err != nil {
		return nil, withoutBackups(err)
	}
	backups := slices.DeleteFunc(found.Items, func(b backupv1alpha1.NginxBackup) bool {
		return application != "" && b.Spec.Target.Name != application
	})
	slices.SortFunc(backups, func(a, b backupv1alpha1.NginxBackup) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(b.Name, a.Name))
	})
	return backups, nil
}

// withoutBackups says what to do if the cluster has no backups.
func withoutBackups(err error) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster has no NginxBackups: install the operator with backups: %w", err)
	}
	return err
}

// UsualDestination returns where the backups of an application are kept: as a policy declares that selects it, or else where
// the last backup is.
func UsualDestination(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (*backupv1alpha1.NginxBackupSpec, error) {
	policies := &backupv1alpha1.NginxBackupPolicyList{}
	if err := c.List(ctx, policies, client.InNamespace(nginx.Namespace)); err != nil {
		return nil, withoutBackups(err)
	}
	for i := range policies.Items {
		p := &policies.Items[i]
		selected, err := selects(p, nginx)
		if err != nil {
			return nil, err
		}
		if selected {
			return &backupv1alpha1.NginxBackupSpec{Destination: p.Spec.Destination, IncludeSecrets: p.Spec.IncludeSecrets, ExcludeClaims: p.Spec.ExcludeClaims}, nil
		}
	}
	backups, err := ReadBackups(ctx, c, nginx.Namespace, nginx.Name)
	if err != nil || len(backups) == 0 {
		return nil, err
	}
	last := backups[0].Spec
	return &backupv1alpha1.NginxBackupSpec{Destination: last.Destination, IncludeSecrets: last.IncludeSecrets, ExcludeClaims: last.ExcludeClaims}, nil
}

// selects reports whether a policy selects an application.
func selects(p *backupv1alpha1.NginxBackupPolicy, nginx *v1alpha2.NginxOperator) (bool, error) {
	if p.Spec.Target != nil {
		return p.Spec.Target.Name == nginx.Name, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(p.Spec.Selector)
	if err != nil {
		return false, fmt.Errorf("NginxBackupPolicy %s: %w", p.Name, err)
	}
	return selector.Matches(labels.Set(nginx.Labels)), nil
}
