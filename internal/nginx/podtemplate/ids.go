package podtemplate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
)

// setIDs sets the user and the groups of the processes: those of the spec, and otherwise those of the operator's
// template, or of the platform.
func (b *builder) setIDs(security *corev1ac.PodSecurityContextApplyConfiguration, s shape) {
	group := security.RunAsGroup
	if b.options.PlatformAssignsIDs {
		security.RunAsUser, security.RunAsGroup, group = nil, nil, nil
	}
	template := ptr.Deref(b.nginx.Spec.PodTemplate, v1alpha2.PodTemplate{})
	want := ptr.Deref(template.SecurityContext, v1alpha2.PodSecurityContext{})
	if want.RunAsUser != nil {
		security.RunAsUser = want.RunAsUser
	}
	if want.RunAsGroup != nil {
		security.RunAsGroup, group = want.RunAsGroup, want.RunAsGroup
	}
	security.WithSupplementalGroups(want.SupplementalGroups...)
	switch {
	case want.FSGroup != nil:
		security.FSGroup = want.FSGroup
	case len(b.options.Claims) > 0, !s.before05 && writesVolume(&template):
		security.FSGroup = group
	}
	if security.FSGroup != nil || want.FSGroupChangePolicy != nil {
		// Changing the owner of every file of a full volume would take minutes at every start.
		security.WithFSGroupChangePolicy(ptr.Deref(want.FSGroupChangePolicy, corev1.FSGroupChangeOnRootMismatch))
	}
}

// writesVolume reports whether nginx may write to a volume that outlives the pod. A new block volume belongs to root.
func writesVolume(template *v1alpha2.PodTemplate) bool {
	return slices.ContainsFunc(template.Volumes, func(v v1alpha2.Volume) bool {
		claim, csi := v.PersistentVolumeClaim, v.CSI
		if (claim == nil || claim.ReadOnly) && (csi == nil || ptr.Deref(csi.ReadOnly, false)) {
			return false
		}
		return slices.ContainsFunc(template.VolumeMounts, func(m v1alpha2.VolumeMount) bool {
			return m.Name == v.Name && !ptr.Deref(m.ReadOnly, false)
		})
	})
}
