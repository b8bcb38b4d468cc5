package kubelet

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/test/standin/instance"
)

// watchCaches watches the claims of caches, which it binds, and purges, which it checks.
func (k *Kubelet) watchCaches(ctx context.Context) error {
	claims, err := k.cache.GetInformer(ctx, &corev1.PersistentVolumeClaim{})
	if err != nil {
		return err
	}
	purges, err := k.cache.GetInformer(ctx, &cachev1alpha1.NginxCachePurge{})
	if err != nil {
		return err
	}
	if _, err := claims.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(claim any) { go k.bindClaim(ctx, claim) },
		UpdateFunc: func(_, claim any) { go k.bindClaim(ctx, claim) },
	}); err != nil {
		return err
	}
	_, err = purges.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, purge any) { k.checkComplete(purge) },
	})
	return err
}

// bindClaim gives a claim the volume that it requests.
func (k *Kubelet) bindClaim(ctx context.Context, object any) {
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if !ok || claim.Labels[v1alpha2.LabelNginxOperator] == "" || k.others(claim.Namespace) {
		return
	}
	bound := claim.DeepCopy()
	bound.Status.Phase, bound.Status.Capacity, bound.Status.AccessModes = corev1.ClaimBound, claim.Spec.Resources.Requests, claim.Spec.AccessModes
	if !apiequality.Semantic.DeepEqual(claim.Status, bound.Status) {
		// After a conflict, there is another event.
		_ = k.client.Status().Update(ctx, bound)
	}
}

// volumeOf returns the volume of a pod's cache; nil: it has none. That of a shard outlives the pod.
func (k *Kubelet) volumeOf(pod *corev1.Pod) *instance.Volume {
	if pod.Labels[cachev1alpha1.LabelNginxCache] == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := client.ObjectKeyFromObject(pod)
	if pod.Labels[cachev1alpha1.LabelTier] != cachev1alpha1.TierShards || k.volumes[key] == nil {
		k.volumes[key] = &instance.Volume{}
	}
	return k.volumes[key]
}

// checkComplete records a violation if a purge is complete, and a pod has not carried it out.
func (k *Kubelet) checkComplete(object any) {
	p, ok := object.(*cachev1alpha1.NginxCachePurge)
	if !ok || !meta.IsStatusConditionTrue(p.Status.Conditions, cachev1alpha1.ConditionComplete) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.instances {
		if volume := k.volumes[key]; key.Namespace == p.Namespace && volume != nil && volume.Number() < p.Status.Number {
			k.books.violate(p.Namespace, fmt.Sprintf("NginxCachePurge %s is complete, and pod %s has not carried it out", p.Name, key.Name))
		}
	}
}

// checkEdge records a violation if an edge gets another template while shards have still to get theirs.
func (k *Kubelet) checkEdge(ctx context.Context, pod *corev1.Pod) error {
	cache := pod.Labels[cachev1alpha1.LabelNginxCache]
	if cache == "" || pod.Labels[cachev1alpha1.LabelTier] != cachev1alpha1.TierEdge {
		return nil
	}
	edge, shards := &appsv1.StatefulSet{}, &appsv1.StatefulSet{}
	for name, set := range map[string]*appsv1.StatefulSet{cachev1alpha1.EdgeName(cache): edge, cachev1alpha1.ShardsName(cache): shards} {
		if err := k.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: name}, set); err != nil {
			// It is deleted or created again.
			return client.IgnoreNotFound(err)
		}
	}
	isNew := edge.Status.UpdateRevision != edge.Status.CurrentRevision && pod.Labels[appsv1.ControllerRevisionHashLabelKey] == edge.Status.UpdateRevision
	if s := shards.Status; isNew && s.UpdatedReplicas < s.Replicas && s.UpdateRevision != s.CurrentRevision {
		k.books.violate(pod.Namespace, fmt.Sprintf("edge %s got another template while only %d of %d shards have theirs", pod.Name, s.UpdatedReplicas, s.Replicas))
	}
	return nil
}

// checkRemoved records a violation if a shard was removed that edges look for.
func (k *Kubelet) checkRemoved(ctx context.Context, pod *corev1.Pod) {
	cache := pod.Labels[cachev1alpha1.LabelNginxCache]
	if cache == "" || pod.Labels[cachev1alpha1.LabelTier] != cachev1alpha1.TierShards {
		return
	}
	set, config := &appsv1.StatefulSet{}, &corev1.ConfigMap{}
	shards, edge := cachev1alpha1.ShardsName(cache), naming.ConfigMap(cachev1alpha1.EdgeName(cache))
	if k.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: shards}, set) != nil || k.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: edge}, config) != nil {
		// The cache is deleted.
		return
	}
	ordinal := naming.Ordinal(pod.Name)
	if ordinal >= ptr.Deref(set.Spec.Replicas, 1) && int(ordinal) < cacheconf.RingSize(config.Data) {
		k.books.violate(pod.Namespace, fmt.Sprintf("shard %s was removed while edges look for it", pod.Name))
	}
}

// watcher records what the instances of a kubelet do.
type watcher struct {
	*books
	kubelet *Kubelet
}

// Sent checks that purges that are sent to a pod are remembered already: a pod that starts at the same time has to find
// them.
func (w watcher) Sent(pod client.ObjectKey, purges instanceapi.Purges) {
	logs, err := w.logs(pod.Namespace)
	if err == nil && !slices.ContainsFunc(logs, func(l purge.Log) bool { return l.Shards.Last() >= purges.Last() }) {
		w.violate(pod.Namespace, fmt.Sprintf("pod %s got purge %d before it was remembered", pod.Name, purges.Last()))
	}
}

// logs returns what is remembered of the purges of a namespace.
func (w watcher) logs(namespace string) (logs []purge.Log, err error) {
	list := &corev1.ConfigMapList{}
	if err := w.kubelet.client.List(context.Background(), list, client.InNamespace(namespace), client.HasLabels{cachev1alpha1.LabelNginxCache}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if l, err := purge.ParseLog(list.Items[i].Data); err == nil && metav1.GetControllerOf(&list.Items[i]) != nil {
			logs = append(logs, l)
		}
	}
	return logs, nil
}

// Purges checks that an edge purges only what all shards have purged, and that the numbers of purges grow.
func (w watcher) Purges(pod client.ObjectKey, purges instanceapi.Purges) {
	w.number(pod.Namespace, purges)
	shard, isEdge := w.kubelet.behind(pod, purges.Last())
	if isEdge && shard != "" && !w.anew(pod.Namespace, purges) {
		w.violate(pod.Namespace, fmt.Sprintf("edge %s was let carry out purge %d before shard %s", pod.Name, purges.Last(), shard))
	}
}

// anew reports whether purges are only the beginning of the log of purges: when a log begins anew, all pods drop what they have,
// in any order, and the purges that are open are added after that.
func (w watcher) anew(namespace string, purges instanceapi.Purges) bool {
	logs, err := w.logs(namespace)
	return err == nil && len(purges.List) == 0 && slices.ContainsFunc(logs, func(l purge.Log) bool {
		return l.Shards.Since == purges.Since
	})
}

// behind returns a shard that has not carried out a purge, and whether a pod is an edge.
func (k *Kubelet) behind(pod client.ObjectKey, number int64) (shard string, isEdge bool) {
	pods := &corev1.PodList{}
	if k.cache.List(context.Background(), pods, client.InNamespace(pod.Namespace), client.HasLabels{cachev1alpha1.LabelNginxCache}) != nil {
		return "", false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range pods.Items {
		p := &pods.Items[i]
		isShard := p.Labels[cachev1alpha1.LabelTier] == cachev1alpha1.TierShards
		if volume := k.volumes[client.ObjectKeyFromObject(p)]; isShard && volume != nil && p.DeletionTimestamp == nil && volume.Number() < number {
			shard = p.Name
		}
		isEdge = isEdge || p.Name == pod.Name && !isShard
	}
	return shard, isEdge
}

// number checks that a purge keeps its number, and that others get greater ones.
func (b *books) number(namespace string, purges instanceapi.Purges) {
	b.mu.Lock()
	defer b.mu.Unlock()
	book := b.of(namespace)
	for _, p := range purges.List {
		switch known, ok := book.purges[p.Owner]; {
		case ok && known != p.Number:
			book.broken = fmt.Sprintf("the purge of %s has the number %d, and had %d", p.Owner, p.Number, known)
		case !ok && p.Number <= book.lastPurge:
			book.broken = fmt.Sprintf("the purge of %s has the number %d, after %d", p.Owner, p.Number, book.lastPurge)
		case !ok:
			book.purges[p.Owner], book.lastPurge = p.Number, p.Number
		}
	}
}

// violate records the first violation.
func (b *books) violate(namespace, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if book := b.of(namespace); book.broken == "" {
		book.broken = text
	}
}
