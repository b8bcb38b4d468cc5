package view

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
)

// controlled returns the metadata of an object with the labels of the application "web" and a controller.
func controlled(name, uid string, by metav1.OwnerReference) metav1.ObjectMeta {
	by.Controller = new(true)
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), Labels: naming.Labels("web"), OwnerReferences: []metav1.OwnerReference{by}}
}

func by(kind, name, uid string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Name: name, UID: types.UID(uid)}
}

// TestReadPods: pods that merely have the labels of an application are not its pods, whatever their controllers are called.
func TestReadPods(t *testing.T) {
	nginx := &v1alpha2.NginxOperator{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "app"}}
	pod := func(name string, by metav1.OwnerReference) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: controlled(name, name, by)}
	}
	objects := []client.Object{
		&appsv1.Deployment{ObjectMeta: controlled("web", "deployment", metav1.OwnerReference{APIVersion: v1alpha2.GroupVersion.String(), Kind: v1alpha2.Kind, Name: "web", UID: "app"})},
		&appsv1.ReplicaSet{ObjectMeta: controlled("web-1", "set", by("Deployment", "web", "deployment"))},
		&appsv1.ReplicaSet{ObjectMeta: controlled("web-2", "forged", by("Deployment", "web", "another"))},
		pod("web-1-a", by("ReplicaSet", "web-1", "set")),
		pod("web-1-b", by("ReplicaSet", "web-1", "before")),
		pod("web-2-a", by("ReplicaSet", "web-2", "forged")),
		pod("web-0", by("StatefulSet", "web", "deployment")),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bare", Labels: naming.Labels("web")}},
	}
	forbid := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, pods := list.(*corev1.PodList); pods {
			return c.List(ctx, list, options...)
		}
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "", nil)
	}, Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, key.Name, nil)
	}}
	for name, test := range map[string]struct {
		calls interceptor.Funcs
		want  []string
	}{
		"all rights":          {want: []string{"web-1-a"}},
		"no right to look up": {forbid, []string{"web-1-a", "web-1-b", "web-2-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).WithInterceptorFuncs(test.calls).Build()
			for _, namespace := range []string{"shop", ""} {
				checkNames(t, test.want)(ReadPodsOfAll(t.Context(), c, namespace, []v1alpha2.NginxOperator{*nginx, {ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "web", UID: "other"}}}))
			}
			checkNames(t, nil)(ReadPodsOfAll(t.Context(), c, "shop", nil))
			checkNames(t, test.want)(ReadPods(t.Context(), c, nginx))
		})
	}
}

// checkNames returns a check that pods were read, and have these names.
func checkNames(t *testing.T, want []string) func([]corev1.Pod, error) {
	t.Helper()
	return func(pods []corev1.Pod, err error) {
		t.Helper()
		var got []string
		for i := range pods {
			got = append(got, pods[i].Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v (%v), want %v", got, err, want)
		}
	}
}
