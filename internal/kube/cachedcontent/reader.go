package cachedcontent

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/budget"
)

// Reader reads objects from the caches, and those without their content from the API server. The content of another owner's
// object is never needed.
type Reader struct {
	Cached, Live client.Reader
}

// Get reads an object that its owner controls. It returns why the caches do not have its content; empty: they have.
func (r Reader) Get(ctx context.Context, owner metav1.Object, key client.ObjectKey, object client.Object) (budget.Excess, error) {
	if err := r.Cached.Get(ctx, key, object); err != nil {
		return "", err
	}
	return r.Complete(ctx, owner, object)
}

// Complete is Get for an object that the caches have listed.
func (r Reader) Complete(ctx context.Context, owner metav1.Object, object client.Object) (budget.Excess, error) {
	excess := NotCached(object)
	if excess == "" || !metav1.IsControlledBy(object, owner) {
		return "", nil
	}
	key, gvk := client.ObjectKeyFromObject(object), object.GetObjectKind().GroupVersionKind()
	// Decoding keeps what a map already has, such as the reason.
	reflect.ValueOf(object).Elem().SetZero()
	object.GetObjectKind().SetGroupVersionKind(gvk)
	return excess, r.Live.Get(ctx, key, object)
}
