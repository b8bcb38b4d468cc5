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

	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/revision"
)

// parallelAnnotations bounds how many pods of one application are annotated at the same time.
const parallelAnnotations = 16

// AnnotatePods writes the annotations of pods. It leaves a pod alone that is gone, or that is another one of the same
// name.
func (a *Applier) AnnotatePods(ctx context.Context, app *application.Application, updates []revision.PodAnnotations) error {
	errs := make([]error, len(updates))
	var group errgroup.Group
	group.SetLimit(parallelAnnotations)
	for i, update := range updates {
		group.Go(func() error {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: update.Pod}}
			err := a.objects(app).ApplyConfiguration(ctx, pod, corev1ac.Pod(update.Pod, app.Namespace).WithUID(update.UID).WithAnnotations(update.Annotations))
			if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				errs[i] = fmt.Errorf("annotate Pod %s: %w", update.Pod, err)
			}
			return nil
		})
	}
	_ = group.Wait() // A failure for one pod does not delay the others.
	return errors.Join(errs...)
}
