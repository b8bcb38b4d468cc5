package revision

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/observe"
)

// serviceFamilies returns the address families in which clients reach the application: those of the Service, and those that
// it is about to get.
func serviceFamilies(nginx *v1alpha2.NginxOperator, state observe.State, cluster corev1.IPFamily) []corev1.IPFamily {
	want := ptr.Deref(nginx.Spec.Service, v1alpha2.Service{})
	families := slices.Clone(want.IPFamilies)
	if ptr.Deref(want.IPFamilyPolicy, "") == corev1.IPFamilyPolicyRequireDualStack {
		families = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}
	if live := state.Service(nginx.Name); live != nil {
		families = append(families, live.Spec.IPFamilies...)
	}
	if len(families) == 0 && cluster != "" {
		families = append(families, cluster)
	}
	slices.Sort(families)
	return slices.Compact(families)
}
