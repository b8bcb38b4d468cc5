package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/internal/plugin/manifests"
	"example.com/nginx-operator/internal/plugin/screen"
)

// ErrNotReady says that the operator is not ready.
var ErrNotReady = errors.New("the operator is not ready")

// pollInterval is between two reads of the Deployment and its pods. A watch of the Deployment alone would not show why a
// pod does not start.
const pollInterval = 2 * time.Second

// Wait waits until the operator is ready, and prints each step.
func (i *Installer) Wait(ctx context.Context) error {
	said := ""
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		deployment := &appsv1.Deployment{}
		if err := i.Client.Get(ctx, client.ObjectKey{Namespace: manifests.Namespace, Name: manifests.Deployment}, deployment); err != nil {
			return false, err
		}
		return i.step(ctx, deployment, &said)
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w in time: %s: see kubectl -n %s describe pods", ErrNotReady, said, manifests.Namespace)
	}
	return err
}

// step prints the progress if it has changed.
func (i *Installer) step(ctx context.Context, deployment *appsv1.Deployment, said *string) (ready bool, err error) {
	pods := &corev1.PodList{}
	// A user who may not list pods waits without their problems.
	if err := i.Client.List(ctx, pods, client.InNamespace(manifests.Namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels)); err != nil {
		pods.Items = nil
	}
	message, ready, failed := progressOf(deployment, pods.Items)
	if failed {
		return false, fmt.Errorf("%w: %s", ErrNotReady, message)
	}
	if message != *said {
		*said = message
		_, err = fmt.Fprintln(i.Out, screen.Safe("operator: "+message))
	}
	return ready, err
}

func encode(object *unstructured.Unstructured) ([]byte, error) { return yaml.Marshal(object.Object) }
