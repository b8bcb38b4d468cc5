package controller

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/nginx/naming"
)

// growVolumes makes the claims of the shards request what is declared. What the API server refuses is in the result.
func (r *Reconciler) growVolumes(ctx context.Context, cache *v1alpha1.NginxCache) (tier.Volumes, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	err := r.Client.List(ctx, claims, client.InNamespace(cache.Namespace), client.MatchingLabels(naming.SelectorLabels(v1alpha1.ShardsName(cache.Name))))
	if err != nil {
		return tier.Volumes{}, err
	}
	plan := tier.PlanVolumes(cache, claims.Items)
	if len(plan.Grow) == 0 || ptr.Deref(cache.Spec.Suspend, false) {
		return plan, nil
	}
	refused := ""
	for i := range plan.Grow {
		claim := plan.Grow[i].DeepCopy()
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = cache.Spec.Shards.Storage.Size
		err := r.Client.Patch(ctx, claim, client.MergeFrom(&plan.Grow[i]), client.FieldOwner(naming.FieldManager))
		switch {
		case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
			refused = cmp.Or(refused, fmt.Sprintf("spec.shards.storage.size is %s, but PersistentVolumeClaim %s cannot grow: %v", cache.Spec.Shards.Storage.Size.String(), claim.Name, err))
			continue
		case err != nil:
			return plan, fmt.Errorf("grow PersistentVolumeClaim %s: %w", claim.Name, err)
		}
		ctrl.LoggerFrom(ctx).Info("a volume grows", "claim", claim.Name, "size", cache.Spec.Shards.Storage.Size.String())
		*claims = corev1.PersistentVolumeClaimList{Items: replaced(claims.Items, claim)}
	}
	plan = tier.PlanVolumes(cache, claims.Items)
	plan.Refused = cmp.Or(plan.Refused, refused)
	return plan, nil
}

// replaced returns claims with one of them as it was written.
func replaced(claims []corev1.PersistentVolumeClaim, written *corev1.PersistentVolumeClaim) []corev1.PersistentVolumeClaim {
	all := make([]corev1.PersistentVolumeClaim, 0, len(claims))
	for i := range claims {
		if claims[i].Name == written.Name {
			all = append(all, *written)
		} else {
			all = append(all, claims[i])
		}
	}
	return all
}
