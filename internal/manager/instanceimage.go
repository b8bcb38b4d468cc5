package manager

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ownContainer is the name of the operator's container in config/manager.
const ownContainer = "nginx-operator"

// findInstanceImage sets InstanceImage, if it is unset, to the image that the operator runs from.
// One image contains both programs, so that a manifest has to name it only once.
func (o *Options) findInstanceImage(ctx context.Context, config *rest.Config) error {
	if o.InstanceImage != "" {
		return nil
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	pod, err := client.CoreV1().Pods(o.OwnNamespace).Get(ctx, o.OwnPod, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == ownContainer {
			o.InstanceImage = c.Image
			return nil
		}
	}
	return fmt.Errorf("pod %s has no container %s: set --instance-image", o.OwnPod, ownContainer)
}
