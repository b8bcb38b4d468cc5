package tier

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/nginx/naming"
)

// Volumes are the volumes of the shards, as they are and as they are to be.
type Volumes struct {
	// Grow are the claims that have to request more.
	Grow []corev1.PersistentVolumeClaim
	// Refused is why the volumes cannot be as declared; empty if they can.
	Refused string
	// Growing says which volumes have not got what they request; empty if all have.
	Growing string

	// template and class are what a new claim requests, and usable is the size of the smallest volume.
	template, usable resource.Quantity
	class            *string
	// sizes are those of the volumes, by pod.
	sizes map[string]resource.Quantity
}

// ClaimName returns the name of the claim of a shard.
func ClaimName(cache string, ordinal int) string {
	return naming.VolumeObjects + "-" + naming.Pod(v1alpha1.ShardsName(cache), ordinal)
}

// PlanVolumes decides how volumes follow what is declared. claims are those of the shards; others are ignored. Volumes
// grow; they cannot shrink, nor change their class.
func PlanVolumes(cache *v1alpha1.NginxCache, claims []corev1.PersistentVolumeClaim) Volumes {
	want := cache.Spec.Shards.Storage
	plan := Volumes{template: want.Size, usable: want.Size, class: want.StorageClassName, sizes: map[string]resource.Quantity{}}
	for n := range Shards(cache) {
		i := slices.IndexFunc(claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == ClaimName(cache.Name, n) })
		if i < 0 || claims[i].DeletionTimestamp != nil {
			continue
		}
		plan.compare(want, &claims[i])
		if claims[i].Status.Phase == corev1.ClaimBound {
			plan.measure(naming.Pod(v1alpha1.ShardsName(cache.Name), n), &claims[i])
		}
	}
	if plan.Refused != "" {
		plan.Grow = nil
	}
	return plan
}

// compare compares what a claim requests with what is declared.
func (v *Volumes) compare(want v1alpha1.Storage, claim *corev1.PersistentVolumeClaim) {
	requested, class := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Spec.StorageClassName
	switch order := requested.Cmp(want.Size); {
	case want.StorageClassName != nil && class != nil && *class != *want.StorageClassName:
		v.refuse("spec.shards.storage.storageClassName is %q, but PersistentVolumeClaim %s has the class %q, which cannot be changed: set it back, or delete the claim together with its pod, so that the shard starts empty with a volume of the declared class", *want.StorageClassName, claim.Name, *class)
	case order > 0:
		v.template = requested
		v.refuse("spec.shards.storage.size is %s, but PersistentVolumeClaim %s requests %s, and volumes cannot shrink: set it to %[3]s or more", want.Size.String(), claim.Name, requested.String())
	case order < 0:
		v.Grow = append(v.Grow, *claim)
		v.template = least(v.template, requested)
	}
}

// measure takes account of the volume of a pod.
func (v *Volumes) measure(pod string, claim *corev1.PersistentVolumeClaim) {
	requested, capacity := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	v.sizes[pod], v.usable = capacity, least(v.usable, capacity)
	if capacity.Cmp(requested) < 0 {
		v.Growing = strings.TrimPrefix(fmt.Sprintf("%s, %s has %s of %s", v.Growing, claim.Name, capacity.String(), requested.String()), ", ")
	}
}

// Size returns the size of the volume of a pod; nil if it is not known.
func (v *Volumes) Size(pod string) *resource.Quantity {
	if size, ok := v.sizes[pod]; ok {
		return &size
	}
	return nil
}

func (v *Volumes) refuse(format string, values ...any) {
	if v.Refused == "" {
		v.Refused = fmt.Sprintf(format, values...)
	}
}

func least(a, b resource.Quantity) resource.Quantity {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
}
