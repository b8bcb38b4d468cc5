// Package standin stands in for the Job controller, the kubelets and the garbage collector, as far
// as the jobs of backups and restores need them, and for the operator of the applications. It runs
// the programs of the jobs' pods in its own process.
package standin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/job"
)

// Cluster is the stand-in.
type Cluster struct {
	kube  client.Client
	pause time.Duration
	// failed receives an unexpected error of a pod.
	failed chan error
	// operated is set if the operator of the applications runs itself.
	operated bool

	mu sync.Mutex
	// places holds the storage of the namespaces that the stand-in handles.
	places map[string]*NodeStorage
	// pods holds the pods of the existing jobs and those that still run, by the UID of the job.
	pods map[types.UID]*pod
}

// New returns a stand-in that uses a client without a cache and pauses between its passes.
func New(kube client.Client, pause time.Duration) *Cluster {
	return &Cluster{kube: kube, pause: pause, failed: make(chan error, 1), places: map[string]*NodeStorage{}, pods: map[types.UID]*pod{}}
}

// BesideOperator leaves the applications to their operator. Call it before Run.
func (c *Cluster) BesideOperator() { c.operated = true }

// Add makes the stand-in handle the jobs of a namespace.
func (c *Cluster) Add(namespace string, p *NodeStorage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places[namespace] = p
}

// Remove ends the jobs of a namespace, and returns when none of them uses its storage any more.
func (c *Cluster) Remove(namespace string) {
	c.mu.Lock()
	place := c.places[namespace]
	delete(c.places, namespace)
	for _, p := range c.pods {
		if p.job.Namespace == namespace {
			p.cancel()
		}
	}
	c.mu.Unlock()
	place.close()
}

// Run runs the stand-in until the context ends, which is not an error.
func (c *Cluster) Run(ctx context.Context) error {
	defer c.stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case err = <-c.failed:
		case <-time.After(c.pause):
			err = persist(func() error { return c.list(ctx) })
		}
		if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("the stand-in of Kubernetes: %w", err)
		}
	}
}

// unanswered is the backoff of retries after a lost connection, as a kubelet would make them.
var unanswered = wait.Backoff{Steps: 6, Duration: 50 * time.Millisecond, Factor: 2}

// persist calls do, and retries if the API server has not answered.
func persist(do func() error) error {
	return retry.OnError(unanswered, func(err error) bool {
		return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && !errors.Is(err, context.Canceled)
	}, do)
}

func (c *Cluster) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pods {
		p.cancel()
	}
}

// list handles everything that is due. It lists owners after the objects that they own, so a
// missing owner is gone.
func (c *Cluster) list(ctx context.Context) error {
	if c.idle() {
		return nil
	}
	tasks := client.HasLabels{job.LabelTask}
	var pods corev1.PodList
	var configMaps, lists corev1.ConfigMapList
	var jobs batchv1.JobList
	var applications v1alpha2.NginxOperatorList
	if err := errors.Join(c.kube.List(ctx, &pods, tasks), c.kube.List(ctx, &configMaps, client.HasLabels{v1alpha1.LabelBackup}),
		c.kube.List(ctx, &lists, tasks), c.kube.List(ctx, &jobs, tasks)); err != nil {
		return err
	}
	if !c.operated {
		if err := c.kube.List(ctx, &applications); err != nil {
			return err
		}
	}
	alive, err := c.owners(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, cm := range slices.Concat(configMaps.Items, lists.Items) {
		errs = append(errs, c.collect(ctx, &cm, alive))
	}
	for i := range jobs.Items {
		errs = append(errs, c.collect(ctx, &jobs.Items[i], alive))
	}
	alive = map[types.UID]bool{}
	for i := range jobs.Items {
		alive[jobs.Items[i].UID] = true
		c.start(ctx, &jobs.Items[i])
	}
	for i := range pods.Items {
		errs = append(errs, c.bury(ctx, &pods.Items[i], alive))
	}
	c.forget(alive)
	for i := range applications.Items {
		errs = append(errs, c.observe(ctx, &applications.Items[i]))
	}
	return errors.Join(errs...)
}

// idle reports whether there is no namespace to handle.
func (c *Cluster) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.places) == 0
}

// owners returns the UIDs of the objects that jobs and ConfigMaps can belong to.
func (c *Cluster) owners(ctx context.Context) (map[types.UID]bool, error) {
	alive := map[types.UID]bool{}
	for _, kind := range []string{"NginxBackupList", "NginxBackupPolicyList", "NginxRestoreList"} {
		// There may be thousands of backups, and only their existence matters.
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		if err := c.kube.List(ctx, &list); err != nil {
			return nil, err
		}
		for _, owner := range list.Items {
			alive[owner.UID] = true
		}
	}
	return alive, nil
}

// observe reports, in place of the other operator, that there is nothing to do.
func (c *Cluster) observe(ctx context.Context, nginx *v1alpha2.NginxOperator) error {
	if nginx.Status.ObservedGeneration == nginx.Generation {
		return nil
	}
	text := fmt.Sprintf(`{"status":{"observedGeneration":%d}}`, nginx.Generation)
	return client.IgnoreNotFound(c.kube.Status().Patch(ctx, nginx, client.RawPatch(types.MergePatchType, []byte(text))))
}

// collect deletes an object that belongs to a deleted backup, policy or restore.
func (c *Cluster) collect(ctx context.Context, object client.Object, alive map[types.UID]bool) error {
	owners := object.GetOwnerReferences()
	if len(owners) == 0 || alive[owners[0].UID] {
		return nil
	}
	return client.IgnoreNotFound(c.kube.Delete(ctx, object, client.PropagationPolicy("Background")))
}

// start starts the pod of a job, once. One that is suspended has none.
func (c *Cluster) start(ctx context.Context, j *batchv1.Job) {
	if ptr.Deref(j.Spec.Suspend, false) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	place := c.places[j.Namespace]
	if place == nil || c.pods[j.UID] != nil || j.DeletionTimestamp != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	// Copy the job: an item of a list would keep the whole list in memory.
	p := &pod{kube: c.kube, place: place, job: j.DeepCopy(), ip: newIP(), cancel: cancel, ended: make(chan struct{})}
	c.pods[j.UID] = p
	go func() {
		defer cancel()
		if err := p.run(ctx); client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
			select {
			case c.failed <- fmt.Errorf("job %s: %w", j.Name, err):
			default:
				// Another pod has failed before, which ends the stand-in.
			}
		}
	}()
}

// forget removes the pods that have ended and whose jobs are gone.
func (c *Cluster) forget(alive map[types.UID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.pods, func(owner types.UID, p *pod) bool {
		select {
		case <-p.ended:
			return !alive[owner]
		default:
			return false
		}
	})
}

// bury ends a pod that is being deleted or whose job is gone, and removes it when it has ended.
func (c *Cluster) bury(ctx context.Context, object *corev1.Pod, alive map[types.UID]bool) error {
	owner := object.OwnerReferences[0].UID
	if object.DeletionTimestamp == nil && alive[owner] {
		return nil
	}
	c.mu.Lock()
	running := c.pods[owner]
	c.mu.Unlock()
	if running != nil {
		running.cancel()
		select {
		case <-running.ended:
		default:
			if object.DeletionTimestamp != nil {
				return nil
			}
			// The pod keeps its grace period.
			return client.IgnoreNotFound(c.kube.Delete(ctx, object))
		}
	}
	return client.IgnoreNotFound(c.kube.Delete(ctx, object, client.GracePeriodSeconds(0)))
}
