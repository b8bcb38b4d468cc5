// Package purgecontroller carries out NginxCachePurges. A pass is over all purges of a cache: it remembers what is to be
// purged in a ConfigMap, sends it to the shards, sends the edges what all shards have purged, and writes how far it is.
package purgecontroller

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	cachev1alpha1ac "example.com/nginx-operator/api/cache/v1alpha1/applyconfiguration/cache/v1alpha1"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/messages"
	"example.com/nginx-operator/internal/kube/pages"
	"example.com/nginx-operator/internal/kube/statuswrite"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/rollout"
)

// Instances are the instance managers of the pods.
type Instances interface {
	Status(ctx context.Context, podIP string) (instanceapi.Status, error)
	Purge(ctx context.Context, podIP string, purges instanceapi.SignedOrder) (instanceapi.Status, error)
}

// Reconciler carries out purges.
type Reconciler struct {
	Client client.Client
	// Live reads what must not be old: what is remembered, and, before a purge is complete, the pods.
	Live      client.Reader
	Instances Instances
	// Keys returns the keys that sign what is sent to pods, the newest first.
	Keys     func() []ed25519.PrivateKey
	Recorder events.EventRecorder
	Clock    clock.PassiveClock

	answers answers
}

// Reconcile is one pass over the purges of one cache.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	list := &v1alpha1.NginxCachePurgeList{}
	if err := r.Client.List(ctx, list, client.InNamespace(req.Namespace), client.MatchingFields{indexCache: req.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	next, err := r.expire(ctx, list.Items)
	if err != nil {
		return ctrl.Result{}, err
	}
	open := openPurges(list.Items)
	if len(open) == 0 {
		if len(list.Items) == 0 {
			r.answers.forget(req.NamespacedName)
		}
		return ctrl.Result{RequeueAfter: next}, nil
	}
	cache := &v1alpha1.NginxCache{}
	err = r.Client.Get(ctx, req.NamespacedName, cache)
	if apierrors.IsNotFound(err) || err == nil && cache.DeletionTimestamp != nil {
		return ctrl.Result{RequeueAfter: next}, r.reportNoCache(ctx, req.Name, open)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	again, err := r.purge(ctx, cache, open)
	return ctrl.Result{RequeueAfter: rollout.Soonest(next, again)}, err
}

// openPurges returns the purges that are not finished, in the order of their creation.
func openPurges(purges []v1alpha1.NginxCachePurge) []*v1alpha1.NginxCachePurge {
	var open []*v1alpha1.NginxCachePurge
	for i := range purges {
		if p := &purges[i]; !p.Finished() && p.DeletionTimestamp == nil {
			open = append(open, p)
		}
	}
	slices.SortStableFunc(open, func(a, b *v1alpha1.NginxCachePurge) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return open
}

// reportNoCache reports that purges wait for their cache.
func (r *Reconciler) reportNoCache(ctx context.Context, cache string, open []*v1alpha1.NginxCachePurge) error {
	message := fmt.Sprintf("NginxCache %s does not exist: create it, or delete this NginxCachePurge", cache)
	for _, p := range open {
		if err := r.write(ctx, p, outcome{reason: v1alpha1.ReasonCacheNotFound, message: message}); err != nil {
			return err
		}
	}
	return nil
}

// purge makes a pass over the open purges of a cache. It returns when to make the next one; 0: none is needed.
func (r *Reconciler) purge(ctx context.Context, cache *v1alpha1.NginxCache, open []*v1alpha1.NginxCachePurge) (time.Duration, error) {
	pods, err := r.pods(ctx, cache)
	if err != nil {
		return 0, err
	}
	memory, err := r.remember(ctx, cache, open, pods)
	if err != nil {
		return 0, err
	}
	pods.send(ctx, v1alpha1.TierShards, memory.log.Shards)
	if proven := purge.Proven(pods.all(cache.Name), v1alpha1.TierShards); proven >= memory.log.Shards.Since {
		memory.log.Edge = memory.log.Shards.UpTo(proven)
		pods.send(ctx, v1alpha1.TierEdge, memory.log.Edge)
	}
	// A pod that is not in the cache yet may have got the old content from a shard. One such list is enough: the API server
	// waits for up to 100 ms before it answers, because nothing else tells it that its own cache is up to date.
	if err := pods.list(ctx, pages.Of(r.Live), cache); err != nil {
		return 0, err
	}
	r.answers.keep(client.ObjectKeyFromObject(cache), pods.known)
	all := pods.all(cache.Name)
	var next time.Duration
	complete := true
	numbers := memory.log.Numbers()
	for _, p := range open {
		o := memory.outcome(p, numbers[string(p.UID)], all)
		if err := r.write(ctx, p, o); err != nil {
			return 0, err
		}
		if o.finished() {
			next = rollout.Soonest(next, max(ttl(p), time.Second))
		} else {
			complete = false
		}
	}
	if complete {
		return next, nil
	}
	// Edges that the operator cannot reach find it in the ConfigMap.
	if err := r.store(ctx, cache, memory); err != nil {
		return 0, err
	}
	return rollout.Soonest(next, r.pause(open[0])), nil
}

// The least and the greatest pause between two passes over purges that wait for pods.
const (
	minPause = 200 * time.Millisecond
	maxPause = 10 * time.Second
)

// pause returns a pause that grows with the age of the oldest open purge.
func (r *Reconciler) pause(oldest *v1alpha1.NginxCachePurge) time.Duration {
	return min(max(r.Clock.Since(oldest.CreationTimestamp.Time)/4, minPause), maxPause)
}

// expire deletes the purges that have been finished for long enough. It returns when the next one has to be deleted; 0 if
// there is none.
func (r *Reconciler) expire(ctx context.Context, purges []v1alpha1.NginxCachePurge) (next time.Duration, err error) {
	for i := range purges {
		p := &purges[i]
		if !p.Finished() || p.DeletionTimestamp != nil {
			continue
		}
		left := p.Status.Conditions[0].LastTransitionTime.Add(ttl(p)).Sub(r.Clock.Now())
		if left > 0 {
			next = rollout.Soonest(next, left)
			continue
		}
		if err := r.Client.Delete(ctx, p, client.Preconditions{UID: &p.UID}); client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("delete the finished NginxCachePurge %s: %w", p.Name, err)
		}
	}
	return next, nil
}

// ttl returns how long a purge remains after it is finished.
func ttl(p *v1alpha1.NginxCachePurge) time.Duration {
	return time.Duration(ptr.Deref(p.Spec.TTLSecondsAfterFinished, defaultTTL)) * time.Second
}

// defaultTTL is the default of spec.ttlSecondsAfterFinished.
const defaultTTL = 3600

// outcome is what came of a pass for a purge.
type outcome struct {
	reason, message string
	number          int64
	progress        purge.Progress
}

func (o outcome) finished() bool {
	return o.reason == v1alpha1.ReasonPurged || o.reason == v1alpha1.ReasonRejected
}

// write writes the status of a purge, if it has changed.
func (r *Reconciler) write(ctx context.Context, p *v1alpha1.NginxCachePurge, o outcome) error {
	next := statusOf(p, o, metav1.NewTime(r.Clock.Now()))
	if apiequality.Semantic.DeepEqual(p.Status, next) {
		return nil
	}
	err := statuswrite.Apply(ctx, r.Client, naming.FieldManager, next, cachev1alpha1ac.NginxCachePurgeStatus(), func(s *cachev1alpha1ac.NginxCachePurgeStatusApplyConfiguration) runtime.ApplyConfiguration {
		applied := cachev1alpha1ac.NginxCachePurge(p.Name, p.Namespace).WithStatus(s)
		applied.UID = new(p.UID)
		return applied
	})
	if err != nil {
		// It may have been deleted in the meantime.
		return client.IgnoreNotFound(fmt.Errorf("NginxCachePurge %s: %w", p.Name, err))
	}
	if o.finished() {
		r.publish(p, o)
	}
	return nil
}

func statusOf(p *v1alpha1.NginxCachePurge, o outcome, now metav1.Time) v1alpha1.NginxCachePurgeStatus {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse, Reason: o.reason, Message: o.message,
		ObservedGeneration: p.Generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	next := v1alpha1.NginxCachePurgeStatus{Number: o.number, Pods: o.progress.Rows}
	if o.progress.All > 0 {
		next.Progress = fmt.Sprintf("%d/%d", o.progress.Purged, o.progress.All)
	}
	if o.reason == v1alpha1.ReasonPurged {
		condition.Status, next.CompletionTime = metav1.ConditionTrue, new(metav1.NewTime(now.Truncate(time.Second)))
	}
	for _, before := range p.Status.Conditions {
		if before.Type == condition.Type && before.Status == condition.Status && before.Reason == condition.Reason {
			condition.LastTransitionTime = before.LastTransitionTime
		}
	}
	next.Conditions = []metav1.Condition{condition}
	return next
}

// maxNote is the limit of the API for the note of an event, in bytes.
const maxNote = 1024

// publish publishes the end of a purge, and measures how long it took.
func (r *Reconciler) publish(p *v1alpha1.NginxCachePurge, o outcome) {
	if o.reason == v1alpha1.ReasonRejected {
		r.Recorder.Eventf(p, nil, corev1.EventTypeWarning, o.reason, "Purge", "%s", messages.Shorten(o.message, maxNote))
		return
	}
	purgeSeconds.Observe(r.Clock.Since(p.CreationTimestamp.Time).Seconds())
	r.Recorder.Eventf(p, nil, corev1.EventTypeNormal, o.reason, "Purge", "%s", o.message)
}

// key returns the cache of a purge.
func key(p *v1alpha1.NginxCachePurge) types.NamespacedName {
	return types.NamespacedName{Namespace: p.Namespace, Name: p.Spec.CacheRef.Name}
}
