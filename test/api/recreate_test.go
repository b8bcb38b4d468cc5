package api

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/api/v1alpha2"
)

// TestRefusedServiceStays: a Service that would have to be created again stays if the API server would refuse the new one,
// such as one with a family that the cluster lacks.
func TestRefusedServiceStays(t *testing.T) {
	nginx := create(t, newNamespace(t), "web", v1alpha2.NginxOperatorSpec{Service: &v1alpha2.Service{
		Type: corev1.ServiceTypeNodePort, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
	}})
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionTrue, v1alpha2.ReasonAccepted)
	before := ownedObject(t, nginx, "Service").GetUID()
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Service.IPFamilies[0] = corev1.IPv6Protocol })
	waitCondition(t, nginx, v1alpha2.ConditionAccepted, metav1.ConditionFalse, v1alpha2.ReasonRejected)
	message := meta.FindStatusCondition(nginx.Status.Conditions, v1alpha2.ConditionAccepted).Message
	if !strings.Contains(message, "the API server rejected Service web:") || !strings.Contains(message, "ipFamilies") {
		t.Errorf("Accepted says %q", message)
	}
	if live := ownedObject(t, nginx, "Service"); live == nil || live.GetUID() != before {
		t.Errorf("the Service was deleted; now it is %v", live)
	}
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Service = &v1alpha2.Service{Headless: new(true)} })
	// No garbage collector runs here, so the Service stays as one that is being deleted.
	eventually(t, "a Service that can be created again is deleted", func() error {
		if live := ownedObject(t, nginx, "Service"); live != nil && live.GetDeletionTimestamp() == nil {
			return fmt.Errorf("it is %v", live)
		}
		return nil
	})
}
