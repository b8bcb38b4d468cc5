package volumes

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// newClaim returns a claim of 16Mi that the scheduler has assigned to node-1.
func newClaim(changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "data", UID: "a", Annotations: map[string]string{storagehelpers.AnnSelectedNode: "node-1"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(className), Resources: corev1.VolumeResourceRequirements{Requests: storage("16Mi")},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, change := range changes {
		change(claim)
	}
	return claim
}

func bound(claim *corev1.PersistentVolumeClaim) {
	claim.Spec.VolumeName = volumeName(claim)
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storage("16Mi")}
}

func requests(size string) func(*corev1.PersistentVolumeClaim) {
	return func(claim *corev1.PersistentVolumeClaim) { claim.Spec.Resources.Requests = storage(size) }
}

// newVolume returns the bound PersistentVolume of newClaim on a node.
func newVolume(node string, changes ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	claim := newClaim()
	pv := newPersistentVolume(volume{name: volumeName(claim), size: resource.MustParse("16Mi"), claim: claim}, node, "/volumes/pvc-a")
	pv.Status.Phase = corev1.VolumeBound
	for _, change := range changes {
		change(pv)
	}
	return pv
}

func phase(phase corev1.PersistentVolumePhase) func(*corev1.PersistentVolume) {
	return func(pv *corev1.PersistentVolume) { pv.Status.Phase = phase }
}

func capacity(size string) func(*corev1.PersistentVolume) {
	return func(pv *corev1.PersistentVolume) { pv.Spec.Capacity = storage(size) }
}

// summary describes a plan in a line per volume.
func summary(p plan) []string {
	lines := []string{}
	for _, v := range p.keep {
		line := fmt.Sprintf("keep %s %s", v.name, &v.size)
		for _, step := range []struct {
			needed bool
			name   string
		}{{v.create, "create"}, {v.raise, "raise"}, {v.report, "report"}} {
			if step.needed {
				line += " " + step.name
			}
		}
		lines = append(lines, line)
	}
	for _, name := range p.remove {
		lines = append(lines, "remove "+name)
	}
	return lines
}

func TestPlan(t *testing.T) {
	type claims = []*corev1.PersistentVolumeClaim
	type existing = []*corev1.PersistentVolume
	tests := map[string]struct {
		claims   claims
		existing existing
		want     []string
	}{
		"nothing":                 {},
		"a claim for this node":   {claims: claims{newClaim()}, want: []string{"keep pvc-a 16Mi create"}},
		"a claim for no node yet": {claims: claims{newClaim(func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil })}},
		"a claim for another node": {claims: claims{newClaim(func(c *corev1.PersistentVolumeClaim) {
			c.Annotations[storagehelpers.AnnSelectedNode] = "node-2"
		})}},
		"a claim of no class":      {claims: claims{newClaim(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("") })}},
		"a claim of another class": {claims: claims{newClaim(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = new("fast") })}},
		"a claim of a device": {claims: claims{newClaim(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
		})}},
		"a claim of a copy": {claims: claims{newClaim(func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "PersistentVolumeClaim", Name: "other"}
		})}},
		"a claim that is being deleted": {claims: claims{newClaim(func(c *corev1.PersistentVolumeClaim) {
			c.DeletionTimestamp = &metav1.Time{}
		})}, want: []string{"keep pvc-a 16Mi"}},
		"created, not bound": {claims{newClaim()}, existing{newVolume("node-1", phase(corev1.VolumeAvailable))}, []string{"keep pvc-a 16Mi"}},
		"bound":              {claims{newClaim(bound)}, existing{newVolume("node-1")}, []string{"keep pvc-a 16Mi"}},
		"the claim is newer than the volume": {
			claims{newClaim(bound, requests("32Mi"))}, nil, []string{"keep pvc-a 32Mi"},
		},
		"the volume is newer than the claim": {nil, existing{newVolume("node-1")}, []string{"keep pvc-a 16Mi"}},
		"created on another node":            {claims{newClaim(bound)}, existing{newVolume("node-2")}, nil},
		"a larger request": {
			claims{newClaim(bound, requests("32Mi"))}, existing{newVolume("node-1")}, []string{"keep pvc-a 32Mi raise report"},
		},
		"raised, not reported": {
			claims{newClaim(bound, requests("32Mi"))}, existing{newVolume("node-1", capacity("32Mi"))}, []string{"keep pvc-a 32Mi report"},
		},
		"a smaller request, after the volume was raised": {
			claims{newClaim(bound, requests("24Mi"))}, existing{newVolume("node-1", capacity("32Mi"))}, []string{"keep pvc-a 32Mi report"},
		},
		"a larger request of another node's claim": {claims{newClaim(bound, requests("32Mi"))}, existing{newVolume("node-2")}, nil},
		"released":                 {nil, existing{newVolume("node-1", phase(corev1.VolumeReleased))}, []string{"remove pvc-a"}},
		"released on another node": {nil, existing{newVolume("node-2", phase(corev1.VolumeReleased))}, nil},
		"released, to be retained": {nil, existing{newVolume("node-1", phase(corev1.VolumeReleased), func(pv *corev1.PersistentVolume) {
			pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		})}, []string{"keep pvc-a 16Mi"}},
		"retained, free for the next claim": {nil, existing{newVolume("node-1", phase(corev1.VolumeAvailable), func(pv *corev1.PersistentVolume) {
			pv.Spec.ClaimRef = nil
		})}, []string{"keep pvc-a 16Mi"}},
		"a volume of another class": {nil, existing{newVolume("node-1", phase(corev1.VolumeReleased), func(pv *corev1.PersistentVolume) {
			pv.Spec.StorageClassName = ""
		})}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := summary(newPlan("node-1", test.claims, test.existing)); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
