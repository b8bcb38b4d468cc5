package backup

import (
	"context"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/controller"
)

// updateStatus applies the status if it differs.
func (p *pass) updateStatus(ctx context.Context, status v1alpha1.NginxBackupStatus) error {
	return controller.UpdateBackupStatus(ctx, p.Client, p.Recorder, p.backup, status)
}
