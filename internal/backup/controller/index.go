package controller

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// TargetNameIndex indexes NginxBackups by their target. Without it, each pass over one of a thousand
// applications would read the backups of all of them.
const TargetNameIndex = "spec.target.name"

// Index adds the indexes that the controllers use. Call it before the caches start.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.NginxBackup{}, TargetNameIndex, targetName)
}

func targetName(object client.Object) []string {
	b, ok := object.(*v1alpha1.NginxBackup)
	if !ok {
		return nil
	}
	return []string{b.Spec.Target.Name}
}

// ListBackups lists the backups that a policy has created for a target; for all its targets if target is empty.
func ListBackups(ctx context.Context, c client.Reader, policy *v1alpha1.NginxBackupPolicy, target string) ([]*v1alpha1.NginxBackup, error) {
	which := []client.ListOption{client.InNamespace(policy.Namespace), client.MatchingLabels{v1alpha1.LabelPolicy: policy.Name}, client.UnsafeDisableDeepCopy}
	if target != "" {
		which = append(which, client.MatchingFields{TargetNameIndex: target})
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
