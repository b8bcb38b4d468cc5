package controller

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/nginx/naming"
)

// preparePurges makes sure that the ConfigMap of the purges exists before a pod mounts it, and that it names the keys of the
// rules before a pod stores an object with them. A purge has to know all of them. What a user has to fix is in the result.
func (r *Reconciler) preparePurges(ctx context.Context, cache *v1alpha1.NginxCache) (refused string, err error) {
	if ptr.Deref(cache.Spec.Suspend, false) {
		return "", nil
	}
	cm := configMapMetadata()
	err = r.References.Get(ctx, client.ObjectKey{Namespace: cache.Namespace, Name: v1alpha1.PurgesName(cache.Name)}, cm)
	switch {
	case apierrors.IsNotFound(err):
		return "", r.createPurges(ctx, cache)
	case err != nil:
		return "", err
	case !metav1.IsControlledBy(cm, cache):
		return fmt.Sprintf("ConfigMap %s exists and does not belong to the cache: delete it, or rename the cache", cm.Name), nil
	}
	before := cm.Annotations[purge.AnnotationKeys]
	keys, err := purge.ParseKeys(before).With(cache.Spec.Rules).Text()
	if err != nil || keys == before {
		return "", err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": cm.ResourceVersion, "annotations": map[string]string{purge.AnnotationKeys: keys},
	}})
	if err != nil {
		return "", err
	}
	// A client that writes metadata starts a cache of metadata, to read what it has written.
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cm.Namespace, Name: cm.Name}}
	if err := r.Client.Patch(ctx, written, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(naming.FieldManager)); err != nil {
		return "", fmt.Errorf("write the keys of the rules to ConfigMap %s: %w", cm.Name, err)
	}
	return "", nil
}

// createPurges creates the ConfigMap. Volumes that have served before then are dropped, because nobody knows what was purged.
func (r *Reconciler) createPurges(ctx context.Context, cache *v1alpha1.NginxCache) error {
	keys, err := purge.Keys(nil).With(cache.Spec.Rules).Text()
	if err != nil {
		return err
	}
	log := purge.NewLog(r.Clock.Now())
	data, err := log.Data()
	if err != nil {
		return err
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: cache.Namespace, Name: v1alpha1.PurgesName(cache.Name),
		Labels:          map[string]string{v1alpha1.LabelNginxCache: cache.Name},
		Annotations:     map[string]string{purge.AnnotationKeys: keys},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))},
	}, Data: data}
	err = r.Client.Create(ctx, cm, client.FieldOwner(naming.FieldManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ConfigMap %s: %w", cm.Name, err)
	}
	// If it exists, it is not in the cache yet, and its event causes the next pass.
	return nil
}
