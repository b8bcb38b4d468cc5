package api

import (
	"context"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/standin/instance"
	"example.com/nginx-operator/test/standin/kubelet"
)

// standIn is a pod without a kubelet, with a stand-in of its instance.
type standIn struct {
	key client.ObjectKey
	// instance is nil for a pod that crashes.
	instance *instance.Instance
}

// newStandIn creates a ready pod of an application's template.
func newStandIn(t *testing.T, nginx *v1alpha2.NginxOperator, name string) *standIn {
	t.Helper()
	s, err := startStandIn(t.Context(), t, nginx, name, ownedObject(t, nginx, "Deployment").(*appsv1.Deployment).Spec.Template)
	must(t, err)
	return s
}

// startStandIn creates a pod of a template. It appears to have been ready for a while. If the
// template's image crashes, the pod is in a crash loop and does not respond.
func startStandIn(ctx context.Context, t *testing.T, nginx *v1alpha2.NginxOperator, name string, template corev1.PodTemplateSpec) (*standIn, error) {
	s := &standIn{key: client.ObjectKey{Namespace: nginx.Namespace, Name: name}}
	set, err := replicaSet(ctx, nginx)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: nginx.Namespace, Name: name, Labels: maps.Clone(template.Labels), Annotations: template.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
	}}
	pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "1"
	pod.Spec.Containers = []corev1.Container{{Name: naming.NginxContainer, Image: kubelet.Image(&template.Spec)}}
	if err := kube.Create(ctx, pod); err != nil {
		return nil, err
	}
	ip := "192.0.2.1"
	if !strings.Contains(kubelet.Image(&template.Spec), kubelet.Crashes) {
		started, err := instance.Start(ctx, kube, s.key, nginx.Name)
		if err != nil {
			return nil, err
		}
		s.instance, ip = started, started.IP
		t.Cleanup(func() { _ = started.Close() })
	}
	pod.Status = kubelet.Status(ip, kubelet.Image(&template.Spec))
	return s, kube.Status().Update(ctx, pod)
}

// replicaSet returns the ReplicaSet of all stand-ins of an application. It belongs to the Deployment.
func replicaSet(ctx context.Context, nginx *v1alpha2.NginxOperator) (*appsv1.ReplicaSet, error) {
	deployment := &appsv1.Deployment{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: nginx.Namespace, Name: naming.Workload(nginx.Name)}, deployment); err != nil {
		return nil, err
	}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: nginx.Namespace, Name: deployment.Name + "-" + string(deployment.UID[:8]), Labels: naming.SelectorLabels(nginx.Name),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
	}}
	set.Spec.Selector, set.Spec.Template = deployment.Spec.Selector, deployment.Spec.Template
	err := kube.Create(ctx, set)
	if apierrors.IsAlreadyExists(err) {
		err = kube.Get(ctx, client.ObjectKeyFromObject(set), set)
	}
	return set, err
}

func (s *standIn) serves() string { return s.instance.Serving() }
