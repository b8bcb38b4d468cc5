package nginxoperator

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/controller"
	"example.com/nginx-operator/internal/backup/plan"
)

// gates are the gates of all policies that select an application, with their states.
type gates map[string]plan.GateState

// add adds the gate of a policy. If any policy waits for its backup, the gate is awaited.
func (g gates) add(d plan.Decision) {
	if d.Gate == "" {
		return
	}
	if _, known := g[d.Gate]; !known || d.GateState == plan.Awaited {
		g[d.Gate] = d.GateState
	}
}

// gateStates returns the gates of all decisions, with their states.
func (p *pass) gateStates() gates {
	all := gates{}
	for _, d := range p.decisions {
		all.add(d)
	}
	return all
}

// updateGates opens the gates whose backups exist, and closes those whose rollout has ended. The
// write is rejected if the object has changed: a gate that a user has opened meanwhile must stay
// open.
func (r *Reconciler) updateGates(ctx context.Context, p *pass) error {
	nginx, updated := p.nginx, p.nginx.DeepCopy()
	changed := false
	for gate, passage := range p.gateStates() {
		key := v1alpha2.AnnotationGatePrefix + gate
		switch before, open := nginx.Annotations[key]; {
		case passage == plan.GateOpened && before != nginx.Status.WaitingRollout.Revision:
			metav1.SetMetaDataAnnotation(&updated.ObjectMeta, key, nginx.Status.WaitingRollout.Revision)
		case passage == plan.Over && open:
			delete(updated.Annotations, key)
		default:
			continue
		}
		changed = true
		log.FromContext(ctx).Info("opening or closing a gate", "gate", gate, "passage", passage, "revision", updated.Annotations[key])
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(nginx, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, updated, patch, client.FieldOwner(controller.FieldManager)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("open or close a gate: %w", err))
	}
	return nil
}
