package main

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/internal/fleet"
	"example.com/nginx-operator/test/testenv"
)

const (
	consoleNamespace = "console"
	consoleUser      = "system:serviceaccount:" + consoleNamespace + ":viewer"
)

// fill creates the objects, each with the status that the operator writes for one that serves, and two pods.
func (b *consoleBench) fill(ctx context.Context) error {
	n := b.count(consoleObjects)
	b.progress("console: creating %d objects with a status", n)
	if err := b.plane.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: consoleNamespace}}); err != nil {
		return err
	}
	err := fleet.Each(ctx, n, func(i int) error {
		nginx := fleet.Object(consoleNamespace, i)
		if err := b.plane.Client.Create(ctx, nginx); err != nil {
			return err
		}
		nginx.Status = servingStatus(nginx, i)
		return b.plane.Client.Status().Update(ctx, nginx)
	})
	if err != nil {
		return err
	}
	for i := range 2 {
		if err := createRunningPod(ctx, b.plane.Client, i); err != nil {
			return err
		}
	}
	return nil
}

// servingStatus is the status of an application that serves; one in a hundred does not.
func servingStatus(nginx *v1alpha2.NginxOperator, i int) v1alpha2.NginxOperatorStatus {
	status := v1alpha2.NginxOperatorStatus{
		ObservedGeneration: nginx.Generation, Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1, Image: "nginx:1.30", NginxVersion: "1.30.6", Revision: 1,
		Selector:  naming.Selector(nginx.Name).String(),
		Config:    &v1alpha2.ConfigStatus{Revision: fmt.Sprintf("%016x", i), StableRevision: fmt.Sprintf("%016x", i), TestedReplicas: 1, LoadedReplicas: 1},
		Addresses: []v1alpha2.Address{{Type: v1alpha2.HostnameType, Value: nginx.Name + "." + nginx.Namespace + ".svc"}},
	}
	for _, kind := range []string{"Accepted", "ConfigValid", "UpToDate", "Available", "Ready"} {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: kind, Message: "Every pod is up to date, and serves the requested configuration",
			ObservedGeneration: nginx.Generation, LastTransitionTime: metav1.Now()}
		if i%100 == 99 {
			c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha2.ReasonConfigRejected, `nginx refused the configuration: site.conf:3: unknown directive "lisen"`
		}
		status.Conditions = append(status.Conditions, c)
	}
	return status
}

// createRunningPod creates a pod of web-1 that seems to run, at an address that does not answer (RFC 5737).
func createRunningPod(ctx context.Context, c client.Client, i int) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: consoleNamespace, Name: fmt.Sprintf("web-1-%d", i), Labels: naming.Labels("web-1")},
		Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: naming.NginxContainer, Image: "nginx"}}},
	}
	pod.Spec.AutomountServiceAccountToken, pod.Spec.ServiceAccountName = new(false), ""
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("192.0.2.%d", i+1), PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("192.0.2.%d", i+1)}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: naming.NginxContainer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
	return c.Status().Update(ctx, pod)
}

// consoleViewer returns the configuration of a user who may read everything.
func consoleViewer(ctx context.Context, plane *testenv.ControlPlane) (*rest.Config, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: consoleNamespace, Name: "viewer"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "viewer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "viewer"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "viewer"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: consoleNamespace, Name: "viewer"}},
	}
	for _, object := range []client.Object{account, role, binding} {
		if err := plane.Client.Create(ctx, object); err != nil {
			return nil, err
		}
	}
	token := &authenticationv1.TokenRequest{}
	if err := plane.Client.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, err
	}
	config := rest.AnonymousClientConfig(plane.Config)
	config.BearerToken = token.Status.Token
	return config, nil
}
