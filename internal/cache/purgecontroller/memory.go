package purgecontroller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/nginx/naming"
)

// memory is what is remembered of the purges of a cache, in a ConfigMap that its pods mount.
type memory struct {
	log purge.Log
	// stored is the ConfigMap as it is; nil if there is none.
	stored *corev1.ConfigMap
	// rejected are why purges cannot be carried out, by their names.
	rejected map[string]error
}

// remember adds the purges that are not remembered yet. They are in the ConfigMap before the first pod gets them, so that
// each pod that starts meanwhile finds them there.
func (r *Reconciler) remember(ctx context.Context, cache *v1alpha1.NginxCache, open []*v1alpha1.NginxCachePurge, pods *pods) (*memory, error) {
	m, err := r.recall(ctx, cache)
	if err != nil {
		return nil, err
	}
	if newest := pods.newest(); m.stored == nil || newest > m.log.Shards.Last() {
		// The ConfigMap was lost. Pods that missed a purge drop everything.
		m.log = purge.Log{}
		m.log.Shards.Since, m.log.Edge.Since = newest, newest
	}
	m.log.Forget(m.finished(open, purge.Proven(pods.all(cache.Name), "")))
	added, err := m.add(m.keys(cache), open, r.Clock.Now())
	if err != nil || !added {
		return m, err
	}
	return m, r.store(ctx, cache, m)
}

// maxRefused is how many purges without room end the additions of a pass: there can be any number of them.
const maxRefused = 8

// add adds the open purges that are not remembered yet and have room, and reports whether there are any. keys are those of the
// cache.
func (m *memory) add(keys purge.Keys, open []*v1alpha1.NginxCachePurge, now time.Time) (added bool, err error) {
	adder, err := m.log.Adder()
	if err != nil {
		return false, err
	}
	numbers, refused := m.log.Numbers(), 0
	for _, p := range open {
		if numbers[string(p.UID)] > 0 {
			continue
		}
		wanted, err := purge.Wanted(keys, &p.Spec)
		if err == nil {
			_, err = adder.Add(string(p.UID), wanted, now)
		}
		switch {
		case err == nil:
			added = true
		case !errors.Is(err, purge.ErrNoRoom):
			m.rejected[p.Name] = err
		default:
			if refused++; refused == maxRefused {
				return added, nil
			}
		}
	}
	return added, nil
}

// keys returns the keys that objects of the cache can have.
func (m *memory) keys(cache *v1alpha1.NginxCache) purge.Keys {
	var known purge.Keys
	if m.stored != nil {
		known = purge.ParseKeys(m.stored.Annotations[purge.AnnotationKeys])
	}
	return known.With(cache.Spec.Rules)
}

// finished returns the number up to which all pods have carried out the purges, without those that are open.
func (m *memory) finished(open []*v1alpha1.NginxCachePurge, proven int64) int64 {
	numbers := m.log.Numbers()
	for _, p := range open {
		if number := numbers[string(p.UID)]; number > 0 {
			proven = min(proven, number-1)
		}
	}
	return proven
}

// recall reads the ConfigMap.
func (r *Reconciler) recall(ctx context.Context, cache *v1alpha1.NginxCache) (*memory, error) {
	m := &memory{rejected: map[string]error{}}
	cm := &corev1.ConfigMap{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: cache.Namespace, Name: v1alpha1.PurgesName(cache.Name)}, cm)
	if apierrors.IsNotFound(err) {
		return m, nil
	}
	if err != nil {
		return nil, err
	}
	if !metav1.IsControlledBy(cm, cache) {
		return nil, fmt.Errorf("ConfigMap %s exists and does not belong to NginxCache %s: delete it, or rename the cache", cm.Name, cache.Name)
	}
	m.stored = cm
	m.log, err = purge.ParseLog(cm.Data)
	if err != nil {
		// Another client has changed it. The log then begins anew, at the last purge that a pod has carried out.
		m.log = purge.Log{}
	}
	return m, nil
}

// store writes the ConfigMap, if it has changed.
func (r *Reconciler) store(ctx context.Context, cache *v1alpha1.NginxCache, m *memory) error {
	data, err := m.log.Data()
	if err != nil {
		return err
	}
	if m.stored != nil && maps.Equal(m.stored.Data, data) {
		return nil
	}
	name := v1alpha1.PurgesName(cache.Name)
	if m.stored == nil {
		keys, err := m.keys(cache).Text()
		if err != nil {
			return err
		}
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: cache.Namespace, Name: name,
			Labels:          map[string]string{v1alpha1.LabelNginxCache: cache.Name},
			Annotations:     map[string]string{purge.AnnotationKeys: keys},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cache, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))},
		}, Data: data}
		// Of two operators, one creates it.
		if err := r.Client.Create(ctx, cm, client.FieldOwner(naming.FieldManager)); err != nil {
			return fmt.Errorf("create ConfigMap %s: %w", name, err)
		}
		m.stored = cm
		return nil
	}
	config := corev1ac.ConfigMap(name, cache.Namespace).WithData(data).WithResourceVersion(m.stored.ResourceVersion).
		WithLabels(map[string]string{v1alpha1.LabelNginxCache: cache.Name}).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion(v1alpha1.GroupVersion.String()).WithKind(v1alpha1.Kind).
			WithName(cache.Name).WithUID(cache.UID).WithController(true).WithBlockOwnerDeletion(true))
	if err := r.Client.Apply(ctx, config, client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("write ConfigMap %s: %w", name, err)
	}
	m.stored = m.stored.DeepCopy()
	m.stored.Data, m.stored.ResourceVersion = data, *config.ResourceVersion
	return nil
}

// outcome returns how far a purge with a number is; 0: it has none.
func (m *memory) outcome(p *v1alpha1.NginxCachePurge, number int64, pods []purge.Pod) outcome {
	if err := m.rejected[p.Name]; err != nil {
		return outcome{reason: v1alpha1.ReasonRejected, message: err.Error() + ": nothing was purged"}
	}
	if number == 0 {
		return outcome{reason: v1alpha1.ReasonTooManyPurges, message: "too many purges wait for pods: this one is carried out once they have been; a purge of a prefix takes the place of many URLs"}
	}
	o := outcome{number: number, progress: purge.ProgressOf(number, pods)}
	if o.progress.Waits == "" {
		o.reason, o.message = v1alpha1.ReasonPurged, fmt.Sprintf("No pod can answer with the old content: all %d have purged", o.progress.All)
		if ptr.Deref(p.Spec.Soft, false) {
			o.message = fmt.Sprintf("No pod takes the old content for fresh: all %d have made it stale", o.progress.All)
		}
		return o
	}
	o.reason = v1alpha1.ReasonPurging
	o.message = fmt.Sprintf("%d of %d pods have purged; %s", o.progress.Purged, o.progress.All, o.progress.Waits)
	return o
}
