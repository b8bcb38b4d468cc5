package backup

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
)

// byTarget is the index of NginxBackups by the application that they are of. Without it, every
// look at one of a thousand applications would be one at the backups of all of them.
const byTarget = "spec.target.name"

// Index makes the indexes that the reconcilers look into, before their caches are started.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &v1alpha1.NginxBackup{}, byTarget, targetName)
}

func targetName(object client.Object) []string {
	b, ok := object.(*v1alpha1.NginxBackup)
	if !ok {
		return nil
	}
	return []string{b.Spec.Target.Name}
}
