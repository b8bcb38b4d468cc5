package revision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

// TestServiceFamilies: nginx must listen in the families that the Service has or is about to get.
func TestServiceFamilies(t *testing.T) {
	const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol
	type families = []corev1.IPFamily
	for name, tt := range map[string]struct {
		service *v1alpha2.Service
		live    families
		cluster corev1.IPFamily
		want    families
	}{
		"of the cluster":                     {nil, nil, v6, families{v6}},
		"unknown":                            {nil, nil, "", nil},
		"of the Service":                     {nil, families{v6, v4}, v4, families{v4, v6}},
		"declared, before there is one":      {&v1alpha2.Service{IPFamilies: families{v6}}, nil, v4, families{v6}},
		"declared, while it has another":     {&v1alpha2.Service{IPFamilies: families{v6}}, families{v4}, v4, families{v4, v6}},
		"two required":                       {&v1alpha2.Service{IPFamilyPolicy: new(corev1.IPFamilyPolicyRequireDualStack)}, nil, v4, families{v4, v6}},
		"two preferred, in a cluster of one": {&v1alpha2.Service{IPFamilyPolicy: new(corev1.IPFamilyPolicyPreferDualStack)}, families{v4}, v4, families{v4}},
	} {
		nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1alpha2.NginxOperatorSpec{Service: tt.service}}
		state := observe.State{Owned: map[owned.Key]owned.Object{}}
		if tt.live != nil {
			state.Owned[owned.Key{Kind: "Service", Name: naming.Service("web")}] = &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: tt.live}}
		}
		if diff := cmp.Diff(tt.want, serviceFamilies(nginx, state, tt.cluster)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
