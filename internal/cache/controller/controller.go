// Package controller reconciles NginxCaches: it makes a pass over each of the two applications that a cache consists
// of, and sums up what came of them in one status. It also holds the watches.
package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	cachev1alpha1ac "example.com/nginx-operator/api/cache/v1alpha1/applyconfiguration/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/cache/status"
	"example.com/nginx-operator/internal/cache/tier"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/statuswrite"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/pipeline"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// Reconciler keeps the cluster as every NginxCache declares it.
type Reconciler struct {
	Client client.Client
	// Live reads the content that the caches do not have.
	Live client.Reader
	// References holds the metadata of all ConfigMaps.
	References client.Reader
	Pipeline   *pipeline.Pipeline
	Recorder   events.EventRecorder
	Cluster    cacheconf.Cluster
	Clock      clock.PassiveClock
}

// refusalRetry is how often volumes are tried to grow that the API server refused.
const refusalRetry = 30 * time.Second

// volumesPoll is how often the instance managers of shards are asked about their volumes.
const volumesPoll = 30 * time.Second

// Reconcile is one pass over one NginxCache.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cache := &v1alpha1.NginxCache{}
	err := r.Client.Get(ctx, req.NamespacedName, cache)
	if apierrors.IsNotFound(err) || err == nil && cache.DeletionTimestamp != nil {
		// Garbage collection removes what it owns.
		r.Pipeline.ForgetStatus(req.NamespacedName)
		for _, name := range applications(req.Name) {
			r.Pipeline.Forget(types.NamespacedName{Namespace: req.Namespace, Name: name})
		}
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	tiers, in, err := r.plan(ctx, cache)
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.reconcile(ctx, tiers, in)
}

// plan returns the two applications of a cache, and what is known of it before the passes over them.
func (r *Reconciler) plan(ctx context.Context, cache *v1alpha1.NginxCache) (tiers tier.Tiers, in status.Input, err error) {
	refused, err := r.preparePurges(ctx, cache)
	if err != nil {
		return tiers, in, err
	}
	volumes, err := r.growVolumes(ctx, cache)
	if err != nil {
		return tiers, in, err
	}
	plan, err := r.planHandOver(ctx, cache)
	if err != nil {
		return tiers, in, err
	}
	origins, err := r.origins(ctx, cache)
	if err != nil {
		return tiers, in, err
	}
	keys, err := r.peerKeys(ctx, cache, plan.EdgesFirst)
	if err != nil {
		return tiers, in, err
	}
	tiers = tier.Build(cache, r.Cluster, volumes, plan, origins, keys)
	if refused != "" && tiers.Invalid == nil {
		tiers.Invalid = errors.New(refused)
	}
	return tiers, status.Input{Cache: cache, Invalid: tiers.Invalid, Volumes: volumes, HandOver: plan, Origins: origins}, nil
}

// reconcile makes a pass over each tier, and writes the status. in is what is known before.
func (r *Reconciler) reconcile(ctx context.Context, tiers tier.Tiers, in status.Input) (ctrl.Result, error) {
	shards, edge, err := r.runTiers(ctx, in.Cache, tiers, in.HandOver)
	if shards == nil || edge == nil || err != nil {
		return ctrl.Result{}, err
	}
	if edge.RolledOut && tiers.Invalid == nil {
		if err := r.switchHandOver(ctx, in.Cache, &in.HandOver); err != nil {
			return ctrl.Result{}, err
		}
	}
	after := rollout.Soonest(rollout.Soonest(shards.After, edge.After), r.nextPass(in))
	failure := errors.Join(shards.Failure, edge.Failure)
	if shards.Held || edge.Held {
		return pipeline.Requeue(after, failure)
	}
	in.Now, in.Edge, in.Shards = r.Clock.Now(), tierState(v1alpha1.TierEdge, edge), tierState(v1alpha1.TierShards, shards)
	in.Ring = ringSize(in.Cache, edge)
	next, changed := status.Compute(in)
	if !changed {
		return pipeline.Requeue(after, failure)
	}
	if wait := r.Pipeline.StatusWait(client.ObjectKeyFromObject(in.Cache), shards.Declared+" "+edge.Declared); wait > 0 {
		return pipeline.Requeue(rollout.Soonest(after, wait), failure)
	}
	if err := r.writeStatus(ctx, in.Cache, next); err != nil {
		// The resource may have been deleted in the meantime.
		return ctrl.Result{}, errors.Join(failure, client.IgnoreNotFound(err))
	}
	r.publish(in.Cache, &next,
		status.TierEvents{Name: v1alpha1.TierShards, Events: r.Pipeline.News(tiers.Shards.Key(), shards.Status)},
		status.TierEvents{Name: v1alpha1.TierEdge, Events: r.Pipeline.News(tiers.Edge.Key(), edge.Status)})
	return pipeline.Requeue(after, failure)
}

// nextPass returns when the next pass is due, whatever happens to the tiers.
func (r *Reconciler) nextPass(in status.Input) time.Duration {
	// What happens to the volumes of the shards emits no event.
	after := rollout.Soonest(r.nextStep(in.Cache, in.HandOver), volumesPoll)
	if in.Volumes.Refused != "" {
		// What may cure it, such as a quota or a StorageClass, is not watched.
		after = rollout.Soonest(after, refusalRetry)
	}
	return after
}

// runTiers makes a pass over each tier. A change is rolled out to the shards, and then to the edges. Only when shards are
// to be removed, the edges come first: they must not look for a shard that is gone. A result is nil if there is nothing to
// report yet.
func (r *Reconciler) runTiers(ctx context.Context, cache *v1alpha1.NginxCache, tiers tier.Tiers, plan handover.Plan) (shards, edge *pipeline.Result, err error) {
	if !plan.EdgesFirst {
		if shards, err = r.Pipeline.Run(ctx, tiers.Shards); shards != nil && err == nil {
			edge, err = r.runEdge(ctx, cache, tiers.Edge, shards, plan)
		}
		return shards, edge, err
	}
	if edge, err = r.Pipeline.Run(ctx, tiers.Edge); edge != nil && err == nil {
		if !edge.RolledOut {
			tiers.Shards.Spec.Replicas = &plan.Running
		}
		shards, err = r.Pipeline.Run(ctx, tiers.Shards)
	}
	return shards, edge, err
}

// runEdge makes a pass over the edges, after one over the shards.
func (r *Reconciler) runEdge(ctx context.Context, cache *v1alpha1.NginxCache, edge *application.Application, shards *pipeline.Result, plan handover.Plan) (*pipeline.Result, error) {
	_, now, err := r.running(ctx, cache, edge.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case now == 0 && !meta.IsStatusConditionTrue(shards.Status.Status.Conditions, v1alpha1.ConditionAvailable):
		// Edges that look for shards which do not exist would not find them for as long as the cluster's DNS remembers
		// that.
		return &pipeline.Result{}, nil
	case !shards.RolledOut:
		edge.Waits = "it waits for the rollout of the shards"
	case plan.EdgesWait && !newShardsReady(plan.State, shards.State.Pods):
		edge.Waits = "it waits for the new shards to become ready"
	}
	return r.Pipeline.Run(ctx, edge)
}

// peerKeys returns the keys by which shards know the pods of the cache.
func (r *Reconciler) peerKeys(ctx context.Context, cache *v1alpha1.NginxCache, edgesFirst bool) (cacheconf.PeerKeys, error) {
	serving, err := r.servedByEdges(ctx, cache)
	if err != nil {
		return cacheconf.PeerKeys{}, err
	}
	newest := ""
	if keys := r.Pipeline.Keys.Keys(); len(keys) > 0 {
		newest = cacheconf.NewPeerKey(keys[0], cache.UID)
	}
	return cacheconf.NextPeerKeys(newest, serving, edgesFirst), nil
}

// servedByEdges returns the configuration that the edges start with; nil if they have none.
func (r *Reconciler) servedByEdges(ctx context.Context, cache *v1alpha1.NginxCache) (cacheconf.Files, error) {
	stable := &corev1.ConfigMap{}
	_, err := r.whole().Get(ctx, cache, client.ObjectKey{Namespace: cache.Namespace, Name: naming.ConfigMap(v1alpha1.EdgeName(cache.Name))}, stable)
	if err != nil || !metav1.IsControlledBy(stable, cache) {
		return nil, client.IgnoreNotFound(err)
	}
	return stable.Data, nil
}

// whole reads objects with their content.
func (r *Reconciler) whole() cachedcontent.Reader {
	return cachedcontent.Reader{Cached: r.Client, Live: r.Live}
}

// running returns the StatefulSet of a tier, nil if there is none of the cache, and the number of pods that it has; 0 if it
// was not created yet. While it is created again, its pods tell, which have no controller then. It is at most MaxShards,
// whatever others write to the StatefulSet, and pods alone are not more shards than the cache declares or the edges use.
func (r *Reconciler) running(ctx context.Context, cache *v1alpha1.NginxCache, name string) (*appsv1.StatefulSet, int32, error) {
	set := &appsv1.StatefulSet{}
	_, err := r.whole().Get(ctx, cache, client.ObjectKey{Namespace: cache.Namespace, Name: naming.Workload(name)}, set)
	switch {
	case err == nil && metav1.IsControlledBy(set, cache) && set.Spec.Replicas != nil: // nil: a user changed its controller's kind.
		return set, min(*set.Spec.Replicas, v1alpha1.MaxShards), nil
	case client.IgnoreNotFound(err) != nil:
		return nil, 0, err
	}
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace(cache.Namespace), client.MatchingLabels(naming.SelectorLabels(name))); err != nil {
		return nil, 0, err
	}
	known, most := int32(v1alpha1.MaxShards), int32(0)
	if name == v1alpha1.ShardsName(cache.Name) {
		serving, err := r.servedByEdges(ctx, cache)
		if err != nil {
			return nil, 0, err
		}
		known = int32(max(tier.Shards(cache), cacheconf.RingSize(serving)))
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if ordinal := naming.Ordinal(pod.Name); leftBy(pod, naming.Workload(name)) && ordinal < v1alpha1.MaxShards && pod.Name == naming.Pod(naming.Workload(name), int(ordinal)) {
			most = max(most, ordinal+1)
		}
	}
	return nil, min(most, known), nil
}

// leftBy reports whether a pod can be one of a StatefulSet of a name that does not exist at the moment: the garbage collector
// takes the controller from the pods that stay.
func leftBy(pod *corev1.Pod, set string) bool {
	ref := metav1.GetControllerOf(pod)
	return ref == nil || ref.Kind == application.KindStatefulSet && ref.Name == set
}

// tierState returns what a pass over a tier found.
func tierState(name string, result *pipeline.Result) status.Tier {
	return status.Tier{Name: name, Status: result.Status.Status, Pods: status.NewPods(result.State.Pods, observe.Ready, result.State.Instances)}
}

// ringSize returns the number of shards that the edges send requests to.
func ringSize(cache *v1alpha1.NginxCache, edge *pipeline.Result) int {
	stable := edge.State.Config(naming.ConfigMap(v1alpha1.EdgeName(cache.Name)))
	if stable == nil {
		return 0
	}
	return cacheconf.RingSize(stable.Data)
}

// writeStatus writes the status to the object that it was computed for.
func (r *Reconciler) writeStatus(ctx context.Context, cache *v1alpha1.NginxCache, next v1alpha1.NginxCacheStatus) error {
	return statuswrite.Apply(ctx, r.Client, naming.FieldManager, next, cachev1alpha1ac.NginxCacheStatus(), func(s *cachev1alpha1ac.NginxCacheStatusApplyConfiguration) runtime.ApplyConfiguration {
		applied := cachev1alpha1ac.NginxCache(cache.Name, cache.Namespace).WithStatus(s)
		applied.UID = new(cache.UID)
		return applied
	})
}

// publish publishes the events of both tiers, and of what was lost, once the status was written.
func (r *Reconciler) publish(cache *v1alpha1.NginxCache, next *v1alpha1.NginxCacheStatus, shards, edge status.TierEvents) {
	for _, e := range slices.Concat(status.Events(shards, edge), status.DegradedEvents(&cache.Status, next)) {
		r.Recorder.Eventf(cache, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}

// applications returns the names of the applications of a cache.
func applications(cache string) []string {
	return []string{v1alpha1.EdgeName(cache), v1alpha1.ShardsName(cache)}
}
