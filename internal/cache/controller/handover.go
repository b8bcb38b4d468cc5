package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// handOverManager owns the annotation. What the manager of the StatefulSet has written by a patch becomes part of what it
// applies (kube/apply), and is then removed, because it does not apply that.
const handOverManager = naming.FieldManager + "-hand-over"

// planHandOver decides how many shards run, and whether objects are handed over. A hand-over is recorded before anything
// follows from it.
func (r *Reconciler) planHandOver(ctx context.Context, cache *v1alpha1.NginxCache) (handover.Plan, error) {
	set, running, err := r.running(ctx, cache, v1alpha1.ShardsName(cache.Name))
	if err != nil {
		return handover.Plan{}, err
	}
	in := handover.Input{
		Declared: int32(tier.Shards(cache)), Running: running, Time: tier.HandOverTime(cache), Now: r.Clock.Now(),
	}
	if set != nil {
		in.Current = handover.Parse(set.Annotations[handover.Annotation])
	}
	plan := handover.Decide(in)
	return plan, r.recordHandOver(ctx, cache, plan.State)
}

// switchHandOver records that the edges have the new ring.
func (r *Reconciler) switchHandOver(ctx context.Context, cache *v1alpha1.NginxCache, plan *handover.Plan) error {
	if !plan.Switch(tier.HandOverTime(cache), r.Clock.Now()) {
		return nil
	}
	return r.recordHandOver(ctx, cache, plan.State)
}

// recordHandOver writes a hand-over to the StatefulSet of the shards. One that does not exist hands nothing over.
func (r *Reconciler) recordHandOver(ctx context.Context, cache *v1alpha1.NginxCache, state *handover.State) error {
	set, _, err := r.running(ctx, cache, v1alpha1.ShardsName(cache.Name))
	if err != nil || set == nil || ptr.Deref(cache.Spec.Suspend, false) {
		return err
	}
	text, err := state.Text()
	if err != nil || text == set.Annotations[handover.Annotation] {
		return err
	}
	annotation := new(text)
	if text == "" {
		annotation = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{handover.Annotation: annotation}}})
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("the hand-over of objects between shards changes", "state", text)
	if err := r.Client.Patch(ctx, set, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(handOverManager)); err != nil {
		return fmt.Errorf("record the hand-over in StatefulSet %s: %w", set.Name, err)
	}
	return nil
}

// nextStep returns the time until the next step of a hand-over; 0 if it does not come by time.
func (r *Reconciler) nextStep(cache *v1alpha1.NginxCache, plan handover.Plan) time.Duration {
	if plan.Until.IsZero() || ptr.Deref(cache.Spec.Suspend, false) {
		return 0
	}
	return max(plan.Until.Sub(r.Clock.Now()), time.Millisecond)
}

// newShardsReady reports whether the shards that a hand-over adds are ready.
func newShardsReady(state *handover.State, pods []corev1.Pod) bool {
	for ordinal := state.From; ordinal < state.To; ordinal++ {
		ready := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return naming.Ordinal(p.Name) == ordinal && observe.Ready(&p) })
		if !ready {
			return false
		}
	}
	return true
}
