package kubelet

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/standin/instance"
)

// reads makes a cache of a reader.
type reads struct {
	cache.Cache
	client.Reader
}

func (r reads) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return r.Reader.List(ctx, list, options...)
}

func (r reads) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return r.Reader.Get(ctx, key, object, options...)
}

// TestOldPod: an instance goes on although a sync sees its pod as it was before its status was reported, as happens when another
// client writes to the pod at the same time.
func TestOldPod(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "1", Labels: map[string]string{v1alpha2.LabelNginxOperator: "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx"}}},
	}
	kube := fake.NewClientBuilder().WithObjects(pod).WithStatusSubresource(pod).Build()
	k := &Kubelet{
		client: kube, cache: reads{Reader: kube}, instances: map[client.ObjectKey]*instance.Instance{},
		volumes: map[client.ObjectKey]*instance.Volume{}, books: books{namespaces: map[string]*book{}},
	}
	key, old := client.ObjectKeyFromObject(pod), &corev1.Pod{}
	if err := kube.Get(t.Context(), key, old); err != nil {
		t.Fatal(err)
	}
	if err := k.run(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Forget("shop") })
	started := k.instances[key]
	if err := k.run(t.Context(), old); !apierrors.IsConflict(err) {
		t.Errorf("the second status: %v, want a conflict", err)
	}
	if got := k.instances[key]; got == nil || got != started {
		t.Errorf("the instance has ended")
	}
}
