package observe

import (
	"context"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
)

// Outdated tells whether the cache shows an earlier spec than one that objects were written for
// already. An operator that has just started may read from an API server that lags behind; what it
// would write is what was asked for some time ago.
//
// The API server itself is asked only where an object says so, since anybody can write to it.
func (o *Observer) Outdated(ctx context.Context, nginx *v1alpha2.NginxOperator, state State) (bool, error) {
	if state.writtenFor(nginx) <= nginx.Generation {
		return false, nil
	}
	now := &v1alpha2.NginxOperator{}
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(nginx), now); err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("read the newest spec: %w", err))
	}
	return now.UID == nginx.UID && now.Generation > nginx.Generation, nil
}

// writtenFor is the newest generation of an application that one of its objects was written for; 0:
// none tells.
func (s State) writtenFor(nginx *v1alpha2.NginxOperator) int64 {
	newest := int64(0)
	for _, object := range s.Owned {
		generation, err := strconv.ParseInt(object.GetAnnotations()[naming.AnnotationGeneration], 10, 64)
		if err == nil && metav1.IsControlledBy(object, nginx) {
			newest = max(newest, generation)
		}
	}
	return newest
}
