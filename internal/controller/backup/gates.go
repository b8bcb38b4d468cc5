package backup

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/plan"
)

// gates are those at which a rollout waits for policies, and whether each of these has its backup.
type gates map[string]bool

func (g gates) note(d plan.Decision) {
	if d.Gate == "" {
		return
	}
	others, known := g[d.Gate]
	g[d.Gate] = d.BackedUp && (others || !known)
}

// open lets the rollout that waits pass the gates for which there are backups. It writes to the
// version that this was decided from: what somebody has opened by hand since must stay open.
func (r *Targets) open(ctx context.Context, nginx *v1alpha2.NginxOperator, g gates) error {
	opened := nginx.DeepCopy()
	var names []string
	for gate, backedUp := range g {
		key, revision := v1alpha2.AnnotationGatePrefix+gate, nginx.Status.WaitingRollout.Revision
		if backedUp && nginx.Annotations[key] != revision {
			metav1.SetMetaDataAnnotation(&opened.ObjectMeta, key, revision)
			names = append(names, gate)
		}
	}
	if len(names) == 0 {
		return nil
	}
	patch := client.MergeFromWithOptions(nginx, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, opened, patch, client.FieldOwner(FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("open gates %v: %w", names, err))
	}
	log.FromContext(ctx).Info("a rollout has its backups", "revision", nginx.Status.WaitingRollout.Revision, "gates", names)
	return nil
}
