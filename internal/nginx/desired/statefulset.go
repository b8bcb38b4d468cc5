package desired

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/manifests"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/revision"
)

// statefulSet runs pods that keep their names and volumes.
func statefulSet(in *input) (object, error) {
	s, err := manifests.Decode[appsv1ac.StatefulSetApplyConfiguration]("statefulset.yaml")
	if err != nil {
		return object{}, err
	}
	s.ObjectMetaApplyConfiguration = in.meta(naming.Workload(in.app.Name))
	s.Spec.WithSelector(in.selector()).
		WithServiceName(naming.Service(in.app.Name)).
		WithVolumeClaimTemplates(in.claims()...).
		WithPersistentVolumeClaimRetentionPolicy(in.claimRetention())
	s.Spec.Replicas = in.replicas()
	s.Spec.UpdateStrategy.WithRollingUpdate(appsv1ac.RollingUpdateStatefulSetStrategy().WithPartition(in.partition()))
	if want := in.app.Spec.Rollout; want != nil && want.MinReadySeconds != nil {
		s.Spec.WithMinReadySeconds(*want.MinReadySeconds)
	}
	s.Spec.Template = in.selection.Run.Template
	return object{s, s.ObjectMetaApplyConfiguration}, nil
}

// partition returns the lowest ordinal whose pod may get the new template. The StatefulSet controller replaces the
// pods from there on, the highest ordinal first, and each only when all before it are ready.
func (in *input) partition() int32 {
	// Pods that are being added, or removed, count as well.
	replicas := ptr.Deref(in.app.Spec.Replicas, 1)
	if w := in.state.Workload(); w != nil {
		replicas = max(replicas, w.Wanted)
	}
	switch {
	case in.selection.Mode == revision.Held:
		return replicas
	case in.selection.Began == nil:
		return 0
	case in.selection.Paused:
		return max(0, replicas-in.updatedPods())
	case in.selection.Step.Stage == history.Proving:
		return max(0, replicas-1)
	case in.selection.Step.Stage == history.Canary:
		return max(0, replicas-int32(in.selection.Canary.Replicas))
	}
	return 0
}

// updatedPods counts the pods that have the new template.
func (in *input) updatedPods() int32 {
	n := int32(0)
	for i := range in.state.Pods {
		if observe.TemplateOf(&in.state.Pods[i]) == in.selection.Run.Hash {
			n++
		}
	}
	return n
}

// claims returns the templates of the claims. To change one, the StatefulSet has to be created again, which would end a
// rollout that is under way, so they change only at rest. A class that is not declared stays.
func (in *input) claims() []*corev1ac.PersistentVolumeClaimApplyConfiguration {
	live, ok := in.state.Owned[owned.Key{Kind: application.KindStatefulSet, Name: naming.Workload(in.app.Name)}].(*appsv1.StatefulSet)
	if !ok {
		return in.app.Stateful.Claims
	}
	atRest := in.selection.Began == nil && in.state.LiveTemplate() == in.selection.Run.Hash
	claims := make([]*corev1ac.PersistentVolumeClaimApplyConfiguration, 0, len(in.app.Stateful.Claims))
	for _, declared := range in.app.Stateful.Claims {
		claim, spec := *declared, *declared.Spec
		for i := range live.Spec.VolumeClaimTemplates {
			now := &live.Spec.VolumeClaimTemplates[i]
			if now.Name != *claim.Name {
				continue
			}
			if !atRest || spec.StorageClassName == nil {
				spec.StorageClassName = now.Spec.StorageClassName
			}
			if !atRest {
				spec.Resources = corev1ac.VolumeResourceRequirements().WithRequests(now.Spec.Resources.Requests)
			}
		}
		claim.Spec = &spec
		claims = append(claims, &claim)
	}
	return claims
}

func (in *input) claimRetention() *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	policy := func(remove bool) appsv1.PersistentVolumeClaimRetentionPolicyType {
		if remove {
			return appsv1.DeletePersistentVolumeClaimRetentionPolicyType
		}
		return appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().
		WithWhenScaled(policy(in.app.Stateful.DeleteClaimsWhenScaled)).
		WithWhenDeleted(policy(in.app.Stateful.DeleteClaimsWhenDeleted))
}

// recreatesStatefulSet reports whether the claims of the pods change.
func recreatesStatefulSet(_, _ map[string]any, differing []string) bool {
	return slices.ContainsFunc(differing, func(path string) bool { return strings.HasPrefix(path, "spec.volumeClaimTemplates") })
}
