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

// gates are those of all policies that select an application, and what becomes of each.
type gates map[string]plan.Passage

// note adds what a policy says. As long as one of them has no backup, its gate is awaited.
func (g gates) note(d plan.Decision) {
	if d.Gate == "" {
		return
	}
	if _, known := g[d.Gate]; !known || d.Passage == plan.Awaited {
		g[d.Gate] = d.Passage
	}
}

// operate opens the gates for which there are backups, and takes back openings that have had their
// time. It writes to the version that this was decided from: what somebody has opened by hand since
// must stay open.
func (r *Targets) operate(ctx context.Context, nginx *v1alpha2.NginxOperator, g gates) error {
	operated := nginx.DeepCopy()
	changed := false
	for gate, passage := range g {
		key := v1alpha2.AnnotationGatePrefix + gate
		switch before, open := nginx.Annotations[key]; {
		case passage == plan.Granted && before != nginx.Status.WaitingRollout.Revision:
			metav1.SetMetaDataAnnotation(&operated.ObjectMeta, key, nginx.Status.WaitingRollout.Revision)
		case passage == plan.Over && open:
			delete(operated.Annotations, key)
		default:
			continue
		}
		changed = true
		log.FromContext(ctx).Info("operating a gate", "gate", gate, "passage", passage, "revision", operated.Annotations[key])
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(nginx, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, operated, patch, client.FieldOwner(FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("open or close a gate: %w", err))
	}
	return nil
}
