package backup

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
)

// maxSourceBytes bounds what is recorded of an application, in bytes, since it is packed in memory.
const maxSourceBytes = 32 << 20

// sourceError is about the content of an application. A retry helps only after the application has
// changed.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func (e *sourceError) Unwrap() error { return e.err }

// readSource reads what is to be recorded. The error is NotFound if the NginxOperator does not
// exist. A ConfigMap that does not exist is left out of the backup.
func readSource(ctx context.Context, live client.Reader, backup *v1alpha1.NginxBackup) (snapshot.Source, error) {
	source := snapshot.Source{Nginx: &v1alpha2.NginxOperator{}}
	key := client.ObjectKey{Namespace: backup.Namespace, Name: backup.Spec.Target.Name}
	if err := live.Get(ctx, key, source.Nginx); err != nil {
		return source, err
	}
	size := 0
	for _, name := range snapshot.ConfigMaps(&source.Nginx.Spec) {
		var cm corev1.ConfigMap
		err := live.Get(ctx, client.ObjectKey{Namespace: backup.Namespace, Name: name}, &cm)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return source, fmt.Errorf("read ConfigMap %s: %w", name, err)
		}
		if size += cm.Size(); size > maxSourceBytes {
			return source, &sourceError{fmt.Errorf("the ConfigMaps that the application refers to are larger than %d MiB in total", maxSourceBytes>>20)}
		}
		source.ConfigMaps = append(source.ConfigMaps, cm)
	}
	ofTarget := []client.ListOption{client.InNamespace(backup.Namespace), client.MatchingLabels{v1alpha2.LabelNginxOperator: source.Nginx.Name}}
	rendered := &corev1.ConfigMapList{}
	if err := live.List(ctx, rendered, ofTarget...); err != nil {
		return source, fmt.Errorf("list the rendered configurations: %w", err)
	}
	source.Rendered = rendered.Items
	revisions := &appsv1.ControllerRevisionList{}
	if err := live.List(ctx, revisions, ofTarget...); err != nil {
		return source, fmt.Errorf("list the history: %w", err)
	}
	source.History = revisions.Items
	return source, nil
}
