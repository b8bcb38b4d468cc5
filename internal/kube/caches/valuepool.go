package caches

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

	"example.com/nginx-operator/internal/boundedjson"
)

// mostShared bounds the values of each table of a pool, and mostBytes their size. A full table is emptied, so that values of
// deleted owners are not kept forever. Objects continue to share the values that they already share. Users can give an object any
// values, one after the other: one of more than maxValue bytes is not shared.
const (
	mostShared = 1 << 14
	mostBytes  = 8 << 20
	maxValue   = 32 << 10
)

// ValuePool lets cached objects share equal values: the labels and owner references of one owner's
// objects, and the containers and condition messages of all owners. For the nginx operator, sharing
// saves a third of an application's memory. It is safe because nothing modifies a cached object.
// client-go keeps a copy in each object (https://github.com/kubernetes/client-go/issues/832);
// Cilium shares labels for the same reason (https://github.com/cilium/cilium/issues/36166). Package
// unique forgets a string when no Handle is held, and API objects hold strings; it shares no maps.
type ValuePool struct {
	// ownerLabel holds the owner's name in the labels of its objects.
	ownerLabel string
	// conditions returns the conditions of an owner; nil for other objects.
	conditions func(obj any) []metav1.Condition

	mu         sync.Mutex
	labels     table[labelsKey, map[string]string]
	owners     table[types.UID, []metav1.OwnerReference]
	containers table[uint64, []corev1.Container]
	words      table[string, string]
	seed       maphash.Seed
}

// labelsKey distinguishes the labels of an owner's objects from its selectors, which have fewer.
type labelsKey struct {
	owner string
	n     int
}

// NewValuePool returns an empty pool.
func NewValuePool(ownerLabel string, conditions func(obj any) []metav1.Condition) *ValuePool {
	return &ValuePool{
		ownerLabel: ownerLabel,
		conditions: conditions,
		seed:       maphash.MakeSeed(),
	}
}

// Sharing returns a transformation that applies transform and then shares the values of its result.
func (p *ValuePool) Sharing(transform toolscache.TransformFunc) toolscache.TransformFunc {
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
		p.shareConditions(p.conditions(obj))
		switch o := obj.(type) {
		case *appsv1.Deployment:
			err = p.template(o.Spec.Selector, &o.Spec.Template)
		case *appsv1.StatefulSet:
			err = p.template(o.Spec.Selector, &o.Spec.Template)
		case *appsv1.DaemonSet:
			err = p.template(o.Spec.Selector, &o.Spec.Template)
		}
		return obj, err
	}
}

// table has the shared values of one type.
type table[K comparable, V any] struct {
	values map[K]V
	// bytes is the size of what was added since the table was empty.
	bytes int
}

// intern returns the shared value of a key if it equals value, and otherwise shares value.
func (t *table[K, V]) intern(key K, value V) V {
	// DeepEqual, since semantically equal quantities may have different spellings, and drift
	// detection compares spellings.
	if shared, ok := t.values[key]; ok && reflect.DeepEqual(shared, value) {
		return shared
	}
	size := boundedjson.Size(key) + boundedjson.Size(value)
	if size > maxValue {
		return value
	}
	if len(t.values) >= mostShared || t.bytes+size > mostBytes || t.values == nil {
		t.values, t.bytes = map[K]V{}, 0
	}
	t.values[key] = value
	t.bytes += size
	return value
}

func (p *ValuePool) meta(obj metav1.Object) {
	obj.SetLabels(p.labelsOf(obj.GetLabels()))
	obj.SetAnnotations(p.annotations(obj.GetAnnotations()))
	if owners := obj.GetOwnerReferences(); len(owners) == 1 {
		obj.SetOwnerReferences(p.owners.intern(owners[0].UID, owners))
	}
}

func (p *ValuePool) labelsOf(labels map[string]string) map[string]string {
	owner := labels[p.ownerLabel]
	if owner == "" {
		return labels
	}
	return p.labels.intern(labelsKey{owner, len(labels)}, labels)
}

// annotations shares the keys, which are the same in all objects. Most values occur in one object
// only.
func (p *ValuePool) annotations(own map[string]string) map[string]string {
	shared := maps.Clone(own)
	clear(shared)
	for key, value := range own {
		shared[p.word(key)] = value
	}
	return shared
}

// word returns the shared copy of a text that occurs in many objects.
func (p *ValuePool) word(text string) string { return p.words.intern(text, text) }

// shareConditions shares the texts of conditions, most of which are the same for all owners.
func (p *ValuePool) shareConditions(conditions []metav1.Condition) {
	for i := range conditions {
		c := &conditions[i]
		c.Type, c.Status = p.word(c.Type), metav1.ConditionStatus(p.word(string(c.Status)))
		c.Reason, c.Message = p.word(c.Reason), p.word(c.Message)
	}
}

func (p *ValuePool) template(selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) error {
	if selector != nil {
		selector.MatchLabels = p.labelsOf(selector.MatchLabels)
	}
	template.Labels, template.Annotations = p.labelsOf(template.Labels), p.annotations(template.Annotations)
	pod := &template.Spec
	for i := range pod.TopologySpreadConstraints {
		if selector := pod.TopologySpreadConstraints[i].LabelSelector; selector != nil {
			selector.MatchLabels = p.labelsOf(selector.MatchLabels)
		}
	}
	// The decoder allocates up to twice the capacity.
	pod.Volumes = exactly(pod.Volumes)
	var errs [2]error
	pod.InitContainers, errs[0] = p.containersOf(pod.InitContainers)
	pod.Containers, errs[1] = p.containersOf(pod.Containers)
	return errors.Join(errs[:]...)
}

func (p *ValuePool) containersOf(containers []corev1.Container) ([]corev1.Container, error) {
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
	return p.containers.intern(hash.Sum64(), exactly(containers)), nil
}

// exactly returns the slice without spare capacity.
func exactly[T any](values []T) []T {
	if cap(values) == len(values) {
		return values
	}
	return slices.Insert(make([]T, 0, len(values)), 0, values...)
}
