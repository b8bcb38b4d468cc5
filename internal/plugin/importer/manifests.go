package importer

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Manifests imports workloads of nginx with their ConfigMaps and Services, or else Ingress objects of ingress-nginx.
func Manifests(documents []Document, o Options) (*Result, error) {
	d, err := newDecoder()
	if err != nil {
		return nil, err
	}
	var objects []*object
	for _, doc := range documents {
		found, err := d.all(doc)
		if err != nil {
			return nil, err
		}
		objects = append(objects, found...)
	}
	objects = slices.DeleteFunc(objects, func(o *object) bool { return o == nil })
	s := &inputs{options: o, objects: objects}
	switch workloads := s.workloads(); {
	case len(workloads) > 0:
		return s.importWorkloads(workloads)
	case len(s.ingresses()) > 0:
		return s.importIngresses()
	}
	return nil, fmt.Errorf("%w: the manifests have no Ingress, and no Deployment, StatefulSet, DaemonSet or Pod with a container that is called nginx, has an image of nginx, or mounts files into /etc/nginx", ErrNothing)
}

// inputs are the objects of an import.
type inputs struct {
	options Options
	objects []*object
}

// ofType returns the objects of a Go type.
func ofType[T any](s *inputs) (found []*object, typed []T) {
	for _, o := range s.objects {
		if t, ok := o.typed.(T); ok {
			found, typed = append(found, o), append(typed, t)
		}
	}
	return found, typed
}

func (s *inputs) ingresses() []*object {
	found, _ := ofType[*networkingv1.Ingress](s)
	return found
}

// service returns a Service of a namespace, or nil.
func (s *inputs) service(namespace, name string) *corev1.Service {
	_, services := ofType[*corev1.Service](s)
	for _, service := range services {
		if service.Name == name && service.Namespace == namespace {
			return service
		}
	}
	return nil
}

// reviewOthers reviews the objects that are no part of an application.
func (s *inputs) reviewOthers(r *Review, done map[*object]bool) {
	for _, o := range s.objects {
		if !done[o] {
			o.take("metadata", NotCarried, otherNote(o))
			o.take("spec", NotCarried, otherNote(o))
			o.review(r, otherNote(o))
		}
	}
}

func otherNote(o *object) string {
	switch o.typed.(type) {
	case *corev1.ConfigMap, *corev1.Secret, *corev1.PersistentVolumeClaim, *corev1.ServiceAccount:
		return "it is no part of an application: keep the object as it is"
	case *corev1.Service:
		return "it is no Service of the application: keep the object as it is"
	}
	return "an NginxOperator has no such part: keep the object if you still need it"
}
