package jobs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/pages"
)

// DeleteConfigMaps deletes the ConfigMaps that labels select and that an object owns. live reads from the API server.
func DeleteConfigMaps(ctx context.Context, live client.Client, namespace string, labels client.MatchingLabels, owner types.UID) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := pages.Of(live)(ctx, list, func() error {
		for i := range list.Items {
			cm := &list.Items[i]
			if !Owned(cm, owner) {
				continue
			}
			if err := live.Delete(ctx, cm, client.Preconditions{UID: &cm.UID}); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("delete ConfigMap %s: %w", cm.Name, err)
			}
		}
		return nil
	}, client.InNamespace(namespace), labels)
	if err != nil {
		return fmt.Errorf("delete the ConfigMaps of a job: %w", err)
	}
	return nil
}
