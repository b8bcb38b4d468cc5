package apply

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/nginx-operator/internal/desired"
)

// parallelAsks bounds how many pods of one application are asked at a time.
const parallelAsks = 16

// Ask writes to pods' annotations what is asked of them. A pod that is gone meanwhile,
// or that is another one of the same name, is left alone.
func (a *Applier) Ask(ctx context.Context, namespace string, asks []desired.Ask) error {
	errs := make([]error, len(asks))
	var group errgroup.Group
	group.SetLimit(parallelAsks)
	for i, ask := range asks {
		group.Go(func() error {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ask.Pod}}
			err := a.apply(ctx, pod, corev1ac.Pod(ask.Pod, namespace).WithUID(ask.UID).WithAnnotations(ask.Annotations))
			if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				errs[i] = fmt.Errorf("annotate Pod %s: %w", ask.Pod, err)
			}
			return nil
		})
	}
	_ = group.Wait() // One pod in trouble does not hold up the others.
	return errors.Join(errs...)
}
