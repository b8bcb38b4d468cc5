package backup

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/snapshot"
	"example.com/nginx-operator/internal/kube/pages"
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
	s := &sizedSource{Source: source}
	for _, name := range snapshot.ConfigMaps(&source.Nginx.Spec) {
		var cm corev1.ConfigMap
		err := live.Get(ctx, client.ObjectKey{Namespace: backup.Namespace, Name: name}, &cm)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return source, fmt.Errorf("read ConfigMap %s: %w", name, err)
		}
		if err := s.add(cm.Size()); err != nil {
			return source, err
		}
		s.ConfigMaps = append(s.ConfigMaps, cm)
	}
	rendered, revisions := &corev1.ConfigMapList{}, &appsv1.ControllerRevisionList{}
	if err := s.readOwned(ctx, live, rendered, func() error {
		for _, cm := range owned(rendered.Items, s.Nginx) {
			if err := s.add(cm.Size()); err != nil {
				return err
			}
			s.Rendered = append(s.Rendered, *cm)
		}
		return nil
	}); err != nil {
		return source, fmt.Errorf("list the rendered configurations: %w", err)
	}
	if err := s.readOwned(ctx, live, revisions, func() error {
		for _, r := range owned(revisions.Items, s.Nginx) {
			if err := s.add(r.Size()); err != nil {
				return err
			}
			s.History = append(s.History, *r)
		}
		return nil
	}); err != nil {
		return source, fmt.Errorf("list the history: %w", err)
	}
	return s.Source, nil
}

// sizedSource is a source with the size of its objects, in bytes.
type sizedSource struct {
	snapshot.Source
	size int
}

// add counts the size of an object. The error is a sourceError.
func (s *sizedSource) add(size int) error {
	if s.size += size; s.size > maxSourceBytes {
		return &sourceError{fmt.Errorf("the application's configurations, history and the ConfigMaps that it refers to are larger than %d MiB in total", maxSourceBytes>>20)}
	}
	return nil
}

// readOwned reads a list of the objects with the label of the application in pages, and calls take for each.
func (s *sizedSource) readOwned(ctx context.Context, live client.Reader, list client.ObjectList, take func() error) error {
	return pages.Of(live)(ctx, list, take, client.InNamespace(s.Nginx.Namespace), client.MatchingLabels{v1alpha2.LabelNginxOperator: s.Nginx.Name})
}

// owned returns the objects that an application owns.
func owned[T any, P interface {
	*T
	metav1.Object
}](all []T, nginx *v1alpha2.NginxOperator) (found []P) {
	for i := range all {
		if metav1.IsControlledBy(P(&all[i]), nginx) {
			found = append(found, &all[i])
		}
	}
	return found
}
