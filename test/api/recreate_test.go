package api

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// It may fill the quota for Services.
	full := corev1.ResourceList{corev1.ResourceServices: resource.MustParse("1")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: "services"}, Spec: corev1.ResourceQuotaSpec{Hard: full}}
	must(t, kube.Create(t.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: full, Used: full}
	must(t, kube.Status().Update(t.Context(), quota))
	eventually(t, "the quota is in force", func() error {
		other := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: "other"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		if err := kube.Create(t.Context(), other, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a Service can be created: %w", err)
		}
		return nil
	})
	edit(t, nginx, func(s *v1alpha2.NginxOperatorSpec) { s.Service = &v1alpha2.Service{Headless: new(true)} })
	// No garbage collector runs here, so the Service stays as one that is being deleted.
	eventually(t, "a Service that can be created again is deleted", func() error {
		if live := ownedObject(t, nginx, "Service"); live != nil && live.GetDeletionTimestamp() == nil {
			return fmt.Errorf("it is %v", live)
		}
		return nil
	})
}
