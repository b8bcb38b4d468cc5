package purgecontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/pages"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
)

// maxInFlight bounds the requests to pods at a time.
const maxInFlight = 32

// pods are the pods of a cache that are known.
type pods struct {
	reconciler *Reconciler
	// sets are the StatefulSets of the cache.
	sets []statefulSet
	// shards is the number of shards that should exist now.
	shards int
	known  []*pod
}

// statefulSet is the StatefulSet of a tier.
type statefulSet struct {
	tier, name string
	// uid is empty if there is none that belongs to the cache.
	uid types.UID
	// replicas is its number of pods.
	replicas int32
}

// pod is a pod, and what its instance answers.
type pod struct {
	purge.Pod
	uid    types.UID
	ip     string
	orders *instanceapi.Orders
	// at is when it answered.
	at time.Time
}

// pods lists the pods of a cache and finds out how far they are.
func (r *Reconciler) pods(ctx context.Context, cache *v1alpha1.NginxCache) (*pods, error) {
	all := &pods{reconciler: r}
	if err := all.findSets(ctx, cache); err != nil {
		return nil, err
	}
	if err := all.list(ctx, pages.Whole(r.Client), cache); err != nil {
		return nil, err
	}
	all.each(func(p *pod) {
		if p.ip == "" {
			return
		}
		if last, ok := r.answers.of(client.ObjectKeyFromObject(cache), p.uid, r.Clock.Now()); ok {
			p.Number, p.orders, p.at, p.Waits = last.number, &last.orders, last.at, ""
		} else {
			r.request(ctx, p)
		}
	})
	return all, nil
}

// findSets finds the StatefulSets of a cache, and the number of shards that should exist now. Those that are to be removed stay
// for some time.
func (all *pods) findSets(ctx context.Context, cache *v1alpha1.NginxCache) error {
	all.shards, all.sets = tier.Shards(cache), nil
	whole := cachedcontent.Reader{Cached: all.reconciler.Client, Live: all.reconciler.Live}
	for _, of := range []statefulSet{
		{tier: v1alpha1.TierShards, name: naming.Workload(v1alpha1.ShardsName(cache.Name))},
		{tier: v1alpha1.TierEdge, name: naming.Workload(v1alpha1.EdgeName(cache.Name))},
	} {
		set := &appsv1.StatefulSet{}
		_, err := whole.Get(ctx, cache, client.ObjectKey{Namespace: cache.Namespace, Name: of.name}, set)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read StatefulSet %s: %w", of.name, err)
		}
		if err == nil && metav1.IsControlledBy(set, cache) {
			of.uid, of.replicas = set.UID, ptr.Deref(set.Spec.Replicas, 1)
			if of.tier == v1alpha1.TierShards {
				all.shards = max(all.shards, int(min(of.replicas, v1alpha1.MaxShards)))
			}
		}
		all.sets = append(all.sets, of)
	}
	return nil
}

// setOf returns the StatefulSet whose pod has the label of a cache, and reports whether it is the one of the cache. A pod
// without a controller that the StatefulSet takes over, or of a StatefulSet of the name that is another object, may have served
// for the cache a moment ago, and do so again. The pods of all others do not count: nil.
func (all *pods) setOf(p *corev1.Pod) (set *statefulSet, own bool) {
	ref := metav1.GetControllerOf(p)
	for i := range all.sets {
		set := &all.sets[i]
		switch {
		case ref == nil && p.Labels[v1alpha1.LabelTier] == set.tier && set.takesOver(p.Name):
			return set, false
		case ref != nil && ref.APIVersion == appsv1.SchemeGroupVersion.String() && ref.Kind == application.KindStatefulSet && ref.Name == set.name:
			return set, set.uid != "" && ref.UID == set.uid
		}
	}
	return nil, false
}

// takesOver reports whether the StatefulSet takes over a pod of a name that has no controller. While it is created again, its
// number of pods is not known.
func (s *statefulSet) takesOver(pod string) bool {
	ordinal := naming.Ordinal(pod)
	return ordinal >= 0 && pod == naming.Pod(s.name, int(ordinal)) && (s.uid == "" || ordinal < s.replicas)
}

// list replaces the list of pods. It keeps what is known of a pod, unless the pod had no address: it may have begun to
// serve since.
func (all *pods) list(ctx context.Context, lister pages.Lister, cache *v1alpha1.NginxCache) error {
	list := &corev1.PodList{}
	var now []*pod
	err := lister(ctx, list, func() error {
		for i := range list.Items {
			if p := all.podOf(&list.Items[i]); p != nil {
				now = append(now, p)
			}
		}
		return nil
	}, client.InNamespace(cache.Namespace), client.MatchingLabels{v1alpha1.LabelNginxCache: cache.Name})
	if err != nil {
		return fmt.Errorf("list the pods of the cache: %w", err)
	}
	all.known = now
	return nil
}

// podOf returns what is known of a pod; nil: it does not count.
func (all *pods) podOf(listed *corev1.Pod) *pod {
	if phase := listed.Status.Phase; phase == corev1.PodSucceeded || phase == corev1.PodFailed {
		return nil
	}
	set, own := all.setOf(listed)
	if set == nil {
		return nil
	}
	p := newPod(listed, set, own)
	if at := slices.IndexFunc(all.known, func(known *pod) bool { return known.uid == p.uid && known.ip != "" }); at >= 0 {
		return all.known[at]
	}
	return p
}

// newPod returns a pod of which nothing is known yet. One that does not belong to the cache has no address, so that nothing is
// sent to it.
func newPod(p *corev1.Pod, set *statefulSet, own bool) *pod {
	known := &pod{Pod: purge.Pod{Name: p.Name, Tier: set.tier, Waits: "the pod has just been created"}, uid: p.UID, ip: p.Status.PodIP}
	switch {
	case !own:
		known.ip, known.Waits = "", fmt.Sprintf("the pod does not belong to StatefulSet %s of the cache: wait until it takes over the pod, or remove the label %s", set.name, v1alpha1.LabelNginxCache)
	case known.ip == "":
		// An edge that has never run has stored nothing. A shard may have a volume from before.
		known.Empty, known.Waits = known.Tier == v1alpha1.TierEdge && p.Status.Phase == corev1.PodPending, "the pod does not run"
	}
	return known
}

// request requests the status of a pod.
func (r *Reconciler) request(ctx context.Context, p *pod) {
	now := r.Clock.Now()
	status, err := r.Instances.Status(ctx, p.ip)
	logFailure(ctx, p, err)
	p.answered(&status, now, err)
}

func logFailure(ctx context.Context, p *pod, err error) {
	if err != nil {
		log.FromContext(ctx).Info("a pod did not answer about purges", "pod", p.Name, "reason", err.Error())
	}
}

// answered takes over an answer of the pod to a request that was made at a time.
func (p *pod) answered(status *instanceapi.Status, at time.Time, err error) {
	refused := &instanceapi.RefusedError{}
	switch {
	case errors.As(err, &refused):
		p.orders, p.Waits = nil, fmt.Sprintf("it refuses the purge (%s)", refused.Refusal)
	case err != nil:
		// The error has ports that differ each time.
		p.orders, p.Waits = nil, fmt.Sprintf("its instance manager does not answer on port %d", instanceapi.Port)
	case status.Purged == nil:
		p.orders, p.Waits = nil, "its instance manager is of a release that cannot purge: the rollout replaces it"
	default:
		p.Number, p.Waits, p.orders, p.at = max(p.Number, status.Purged.Number), status.Purged.Error, status.Orders, at
	}
}

// send sends purges to the pods of a tier that have not carried out all of them.
func (all *pods) send(ctx context.Context, tier string, purges instanceapi.Purges) {
	all.each(func(p *pod) {
		if p.Tier == tier && p.orders != nil && p.Number < purges.Last() {
			all.reconciler.send(ctx, p, purges)
		}
	})
}

// send sends purges to a pod, and again if its instance manager has been restarted since the last answer.
func (r *Reconciler) send(ctx context.Context, p *pod, purges instanceapi.Purges) {
	refused := &instanceapi.RefusedError{}
	if err := r.sendOnce(ctx, p, purges); errors.As(err, &refused) {
		if r.request(ctx, p); p.orders != nil {
			// What the pod waits for says what failed.
			_ = r.sendOnce(ctx, p, purges)
		}
	}
}

func (r *Reconciler) sendOnce(ctx context.Context, p *pod, purges instanceapi.Purges) error {
	signer := p.orders.Signer(r.Keys())
	if signer == nil {
		p.Waits = "it does not know the operator's key yet: the kubelet delivers it"
		return nil
	}
	now := r.Clock.Now()
	signed, err := instanceapi.SignPurges(signer, *p.orders, purges, now)
	if err != nil {
		p.Waits = err.Error()
		return err
	}
	status, err := r.Instances.Purge(ctx, p.ip, signed)
	logFailure(ctx, p, err)
	p.answered(&status, now, err)
	if err == nil && p.Waits == "" && p.Number < purges.Last() {
		p.Waits = "it is reading its stored objects"
	}
	return err
}

// each calls do for all pods at the same time, or for as many as are allowed.
func (all *pods) each(do func(*pod)) {
	var group sync.WaitGroup
	free := make(chan struct{}, maxInFlight)
	for _, p := range all.known {
		free <- struct{}{}
		group.Go(func() {
			do(p)
			<-free
		})
	}
	group.Wait()
}

// newest returns the number of the last purge that any pod has carried out.
func (all *pods) newest() (number int64) {
	for _, p := range all.known {
		number = max(number, p.Number)
	}
	return number
}

// all returns how far the pods are, with the shards that are missing.
func (all *pods) all(cache string) []purge.Pod {
	list := make([]purge.Pod, 0, len(all.known))
	for _, p := range all.known {
		list = append(list, p.Pod)
	}
	return purge.WithMissing(list, cache, all.shards)
}
