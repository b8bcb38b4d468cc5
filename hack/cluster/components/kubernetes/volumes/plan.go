package volumes

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

const (
	// className and provisionerName are those of the StorageClass in internal/addon.
	className       = "local"
	provisionerName = "local.cluster.example.com"
)

// volume is the desired state of a volume of this node.
type volume struct {
	name string
	// size is the size of the tmpfs, and the capacity to report.
	size resource.Quantity
	// claim is the claim that the volume is for, or nil if it no longer exists.
	claim *corev1.PersistentVolumeClaim
	// create, raise and report are the writes that are missing: of the PersistentVolume, of its
	// capacity, and of the claim's capacity.
	create, raise, report bool
}

// plan is all that a node should have, and what it should delete.
type plan struct {
	keep []volume
	// remove contains the names of the PersistentVolumes to delete.
	remove []string
}

// newPlan compares the claims and PersistentVolumes of all nodes. The lists may be of different
// ages, so only what neither of them mentions is absent from the plan.
func newPlan(node string, claims []*corev1.PersistentVolumeClaim, existing []*corev1.PersistentVolume) plan {
	p := plan{}
	byUID := map[types.UID]*corev1.PersistentVolumeClaim{}
	for _, claim := range claims {
		byUID[claim.UID] = claim
	}
	for _, pv := range existing {
		var claim *corev1.PersistentVolumeClaim
		if reference := pv.Spec.ClaimRef; reference != nil {
			claim = byUID[reference.UID]
			delete(byUID, reference.UID)
		}
		if pv.Spec.StorageClassName != className || pv.Labels[corev1.LabelHostname] != node {
			continue
		}
		if released(pv) && claim == nil {
			p.remove = append(p.remove, pv.Name)
			continue
		}
		p.keep = append(p.keep, existingVolume(pv, claim))
	}
	for _, claim := range claims {
		if _, missing := byUID[claim.UID]; missing && assigned(node, claim) {
			p.keep = append(p.keep, volume{
				name: volumeName(claim), size: *claim.Spec.Resources.Requests.Storage(), claim: claim,
				create: claim.Spec.VolumeName == "" && claim.DeletionTimestamp == nil,
			})
		}
	}
	return p
}

func existingVolume(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) volume {
	v := volume{name: pv.Name, size: *pv.Spec.Capacity.Storage(), claim: claim}
	if claim == nil || claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName != pv.Name {
		return v
	}
	// A volume does not shrink: what it holds may not fit.
	if request := claim.Spec.Resources.Requests.Storage(); request.Cmp(v.size) > 0 {
		v.size, v.raise = *request, true
	}
	v.report = claim.Status.Capacity.Storage().Cmp(v.size) != 0
	return v
}

func released(pv *corev1.PersistentVolume) bool {
	return pv.Status.Phase == corev1.VolumeReleased && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}

// assigned reports whether the scheduler has chosen this node for a claim of the class. A tmpfs can
// be neither a block device nor a copy of another volume; such claims stay pending.
func assigned(node string, claim *corev1.PersistentVolumeClaim) bool {
	spec := claim.Spec
	return spec.StorageClassName != nil && *spec.StorageClassName == className &&
		claim.Annotations[storagehelpers.AnnSelectedNode] == node &&
		(spec.VolumeMode == nil || *spec.VolumeMode == corev1.PersistentVolumeFilesystem) &&
		spec.DataSource == nil && spec.DataSourceRef == nil
}

// volumeName is always the same for a claim, so that nothing is created twice.
func volumeName(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// newPersistentVolume returns the PersistentVolume for a claim. It is of the type local, since the
// kubelet applies fsGroup to that type, but not to hostPath.
func newPersistentVolume(v volume, node, path string) *corev1.PersistentVolume {
	hostname := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:   v.name,
			Labels: map[string]string{corev1.LabelHostname: node},
			// Without this annotation, the controller manager reports that it cannot delete the volume.
			Annotations: map[string]string{storagehelpers.AnnDynamicallyProvisioned: provisionerName},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: v.size},
			AccessModes:                   v.claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              className,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: v.claim.Namespace, Name: v.claim.Name, UID: v.claim.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{hostname},
			}}}},
		},
	}
}
