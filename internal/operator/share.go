package operator

import (
	"errors"
	"hash/maphash"
	"maps"
	"reflect"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/naming"
)

// mostShared bounds each table of a pool. A full one is emptied: what is shared stays so, and
// what was of applications that are gone is not kept for ever.
const mostShared = 1 << 14

// pool lets cached objects share what is the same in many of them: the labels and owner
// references of the objects of one application, and the containers of the pod templates and the
// words of the conditions of all. That is a third of what an application takes otherwise. Sharing is safe because nobody
// changes an object of a cache.
type pool struct {
	mu         sync.Mutex
	labels     map[labelsKey]map[string]string
	owners     map[types.UID][]metav1.OwnerReference
	containers map[uint64][]corev1.Container
	words      map[string]string
	seed       maphash.Seed
}

// labelsKey tells the labels of an application's objects from its selectors, which have fewer.
type labelsKey struct {
	application string
	n           int
}

func newPool() *pool {
	return &pool{
		labels:     map[labelsKey]map[string]string{},
		owners:     map[types.UID][]metav1.OwnerReference{},
		containers: map[uint64][]corev1.Container{},
		words:      map[string]string{},
		seed:       maphash.MakeSeed(),
	}
}

// sharing lets what another transformation has left share what it can.
func (p *pool) sharing(transform toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		obj, err := transform(obj)
		if err != nil {
			return obj, err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if meta, ok := obj.(metav1.Object); ok {
			p.meta(meta)
		}
		switch o := obj.(type) {
		case *appsv1.Deployment:
			err = p.template(o)
		case *v1alpha2.NginxOperator:
			p.conditions(o.Status.Conditions)
		}
		return obj, err
	}
}

// known returns what a table has for a key if it is the same as value, and value otherwise.
func known[K comparable, V any](table map[K]V, key K, value V) V {
	// Semantically equal quantities are spelled differently, and drift is told by the spelling.
	if shared, ok := table[key]; ok && reflect.DeepEqual(shared, value) {
		return shared
	}
	if len(table) >= mostShared {
		clear(table)
	}
	table[key] = value
	return value
}

func (p *pool) meta(obj metav1.Object) {
	obj.SetLabels(p.labelsOf(obj.GetLabels()))
	obj.SetAnnotations(p.annotations(obj.GetAnnotations()))
	if owners := obj.GetOwnerReferences(); len(owners) == 1 {
		obj.SetOwnerReferences(known(p.owners, owners[0].UID, owners))
	}
}

func (p *pool) labelsOf(labels map[string]string) map[string]string {
	application := labels[naming.LabelApplication]
	if application == "" {
		return labels
	}
	return known(p.labels, labelsKey{application, len(labels)}, labels)
}

// annotations have the same keys everywhere; the values are mostly of one object.
func (p *pool) annotations(own map[string]string) map[string]string {
	shared := maps.Clone(own)
	clear(shared)
	for key, value := range own {
		shared[p.word(key)] = value
	}
	return shared
}

// word is a text that is the same in many objects.
func (p *pool) word(text string) string { return known(p.words, text, text) }

// conditions tell mostly the same of every application.
func (p *pool) conditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		c.Type, c.Status = p.word(c.Type), metav1.ConditionStatus(p.word(string(c.Status)))
		c.Reason, c.Message = p.word(c.Reason), p.word(c.Message)
	}
}

func (p *pool) template(d *appsv1.Deployment) error {
	if d.Spec.Selector != nil {
		d.Spec.Selector.MatchLabels = p.labelsOf(d.Spec.Selector.MatchLabels)
	}
	template := &d.Spec.Template
	template.Labels, template.Annotations = p.labelsOf(template.Labels), p.annotations(template.Annotations)
	pod := &template.Spec
	for i := range pod.TopologySpreadConstraints {
		if selector := pod.TopologySpreadConstraints[i].LabelSelector; selector != nil {
			selector.MatchLabels = p.labelsOf(selector.MatchLabels)
		}
	}
	// The decoder leaves room for up to twice as many.
	pod.Volumes = exactly(pod.Volumes)
	var errs [2]error
	pod.InitContainers, errs[0] = p.containersOf(pod.InitContainers)
	pod.Containers, errs[1] = p.containersOf(pod.Containers)
	return errors.Join(errs[:]...)
}

func (p *pool) containersOf(containers []corev1.Container) ([]corev1.Container, error) {
	if len(containers) == 0 {
		return containers, nil
	}
	var hash maphash.Hash
	hash.SetSeed(p.seed)
	for i := range containers {
		text, err := containers[i].Marshal()
		if err != nil {
			return containers, err
		}
		// Writing to a hash never fails.
		_, _ = hash.Write(text)
	}
	return known(p.containers, hash.Sum64(), exactly(containers)), nil
}

// exactly is a slice without room for more.
func exactly[T any](values []T) []T {
	if cap(values) == len(values) {
		return values
	}
	return slices.Insert(make([]T, 0, len(values)), 0, values...)
}
