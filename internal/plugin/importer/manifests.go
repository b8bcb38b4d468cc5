package importer

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// Manifests imports workloads of nginx with their ConfigMaps and Services, or else Ingress objects of ingress-nginx.
func Manifests(documents []Document, o Options) (*Result, error) {
	s, err := readInputs(documents, o)
	if err != nil {
		return nil, err
	}
	workloads := s.workloads()
	ingresses := s.ingresses()
	for _, b := range s.broken {
		if len(workloads)+len(ingresses) == 0 || len(workloads) > 0 && b.is(workloadKinds) || b.is(ingressKinds) {
			return nil, b.err
		}
	}
	var result *Result
	switch {
	case len(workloads) > 0:
		result, err = s.importWorkloads(workloads)
	case len(ingresses) > 0:
		result, err = s.importIngresses()
	default:
		return nil, fmt.Errorf("%w: the manifests have no Ingress, and no Deployment, StatefulSet, DaemonSet or Pod with a container that is called nginx, has an image of nginx, or mounts files into /etc/nginx", ErrNothing)
	}
	if err != nil {
		return nil, err
	}
	s.reviewBroken(&result.Review)
	return result, nil
}

// readInputs reads the objects of all documents.
func readInputs(documents []Document, o Options) (*inputs, error) {
	d, err := newDecoder()
	if err != nil {
		return nil, err
	}
	s := &inputs{options: o}
	for _, doc := range documents {
		objects, broken, err := d.all(doc)
		if err != nil {
			return nil, err
		}
		s.objects, s.broken = append(s.objects, objects...), append(s.broken, broken...)
	}
	return s, nil
}

// reviewBroken reviews the documents that are no objects.
func (s *inputs) reviewBroken(r *Review) {
	for _, b := range s.broken {
		r.add(Item{Source: b.source, Line: b.line, Subject: "the whole object", Kind: KindFile, Outcome: NotCarried, Note: b.err.Error()})
		r.step("Check %s, which was not read: %s.", b.source, b.err)
	}
}

// Kinds of objects that decide about what an import makes of others, so that none of them may be missing.
var (
	ingressKinds  = []string{"", "List", "Ingress", "IngressList", "IngressClass", "Service", "ServiceList", "ConfigMap", "ConfigMapList"}
	workloadKinds = []string{"Deployment", "StatefulSet", "DaemonSet", "Pod", "PodDisruptionBudget", "NetworkPolicy", "NetworkPolicyList", "Secret"}
)

// broken is a document that is no object.
type broken struct {
	source string
	line   int
	// kind is that of the object, or "" if it is not known.
	kind string
	err  error
}

func (b broken) is(kinds []string) bool { return slices.Contains(kinds, b.kind) }

// inputs are the objects of an import.
type inputs struct {
	options Options
	objects []*object
	broken  []broken
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
	case *networkingv1.NetworkPolicy:
		return "it is no part of an application: keep the object, and copy it if it does not select the new pods"
	case *corev1.Service:
		return "it is no Service of the application: keep the object as it is"
	}
	return "an NginxOperator has no such part: keep the object if you still need it"
}
