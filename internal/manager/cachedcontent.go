package manager

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/backup/job"
	"example.com/nginx-operator/internal/kube/budget"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
)

const kindConfigMap = "ConfigMap"

// The most memory that a cached object takes, in bytes. A larger one is cached without its content: a pod counts as one that
// does not run yet, a job as one that has not finished, and an owned object is read from the API server. A usual pod takes
// 3 KiB of what is cached of it.
const (
	maxPod   = 64 << 10
	maxOwned = 256 << 10
)

// The sizes of objects that take nothing of a budget, in bytes: their number is for a ResourceQuota to bound. Those of
// ConfigMaps all do.
const (
	freeObject   = 16 << 10
	freeRevision = 64 << 10
)

// The budgets of pods, jobs and revisions, in bytes. The other objects have that of package observe.
const (
	maxPodsOfNamespace = 16 << 20
	maxPods            = 64 << 20
)

// keptLabels are those by which objects without content are found.
var keptLabels = []string{
	naming.LabelApplication, cachev1alpha1.LabelNginxCache, cachev1alpha1.LabelTier,
	job.LabelTask, backupv1alpha1.LabelBackup, backupv1alpha1.LabelPolicy, backupv1alpha1.LabelRestore,
}

// content bounds what is cached of objects that anyone in a namespace can create.
type content struct {
	*cachedcontent.Content
	objects, running *budget.Budget
	// watched are the objects with an allowance.
	watched []watched
}

type watched struct {
	object    client.Object
	allowance cachedcontent.Allowance
}

func newContent() *content {
	return &content{
		Content: cachedcontent.New(keptLabels,
			v1alpha2.GroupVersion.WithKind(v1alpha2.Kind).GroupKind(), cachev1alpha1.GroupVersion.WithKind(cachev1alpha1.Kind).GroupKind()),
		objects: budget.New(observe.MaxObjectsOfNamespace, observe.MaxObjects),
		running: budget.New(maxPodsOfNamespace, maxPods),
	}
}

// allowance returns what objects of a kind may take besides the objects that an application has.
func (c *content) allowance(kind string, free int) cachedcontent.Allowance {
	return cachedcontent.Allowance{Kind: kind, Budget: c.running, Free: free}
}

// within returns a transformation like another one, within an allowance.
func (c *content) within(allowance cachedcontent.Allowance, object client.Object, transform toolscache.TransformFunc) toolscache.TransformFunc {
	c.watched = append(c.watched, watched{object, allowance})
	return c.Within(allowance, transform)
}

func (c *content) pods() toolscache.TransformFunc {
	return c.within(c.allowance("Pod", freeObject), &corev1.Pod{}, c.UpTo(maxPod, trimPod))
}

func (c *content) jobs() toolscache.TransformFunc {
	return c.within(c.allowance("Job", freeObject), &batchv1.Job{}, c.UpTo(maxPod, trimJob))
}

func (c *content) revisions() toolscache.TransformFunc {
	return c.within(c.allowance("ControllerRevision", freeRevision), &appsv1.ControllerRevision{}, c.OfOwners(trimRevision))
}

func (c *content) owned(kind owned.Kind) toolscache.TransformFunc {
	transform, allowance := c.ofKind(kind)
	c.watched = append(c.watched, watched{kind.New(), allowance})
	return transform
}

// ofKind returns the transformation of an owned kind, and what its objects may take.
func (c *content) ofKind(kind owned.Kind) (toolscache.TransformFunc, cachedcontent.Allowance) {
	allowance := cachedcontent.Allowance{Kind: kind.Name, Budget: c.objects}
	transform := c.OfOwners(trimOwned(kind))
	if kind.Name != kindConfigMap {
		allowance.Free = freeObject
		transform = c.UpTo(maxOwned, transform)
	}
	return c.Within(allowance, transform), allowance
}

// watchDeleted makes room in the budgets when objects are deleted that the controllers watch.
func (c *content) watchDeleted(ctx context.Context, cache ctrlcache.Cache, options Options) error {
	for _, w := range c.watched {
		_, isJob := w.object.(*batchv1.Job)
		if isJob && !options.runs(ControllerBackup) || !isJob && !options.runsPods() {
			continue
		}
		if err := watchDeleted(ctx, cache, w.object, w.allowance); err != nil {
			return err
		}
	}
	return nil
}

func watchDeleted(ctx context.Context, cache ctrlcache.Cache, object client.Object, allowance cachedcontent.Allowance) error {
	informer, err := cache.GetInformer(ctx, object)
	if err == nil {
		_, err = informer.AddEventHandler(allowance.Deleted())
	}
	if err != nil {
		return fmt.Errorf("watch the deletion of %T: %w", object, err)
	}
	return nil
}

// trimOwned returns the transformation of an owned kind.
func trimOwned(kind owned.Kind) toolscache.TransformFunc {
	if kind.Trim == nil {
		return ctrlcache.TransformStripManagedFields()
	}
	return func(obj any) (any, error) {
		if object, ok := obj.(owned.Object); ok {
			kind.Trim(object)
		}
		return obj, nil
	}
}

// trimRevision removes the configuration's files from a ControllerRevision, since not every pass
// reads them.
func trimRevision(obj any) (any, error) {
	r, ok := obj.(*appsv1.ControllerRevision)
	if !ok {
		return obj, nil
	}
	r.ManagedFields = nil
	if trimmed, err := history.TrimFiles(r.Data.Raw); err == nil {
		r.Data.Raw = trimmed
	}
	// Leave invalid data of other clients as it is: reading it returns an error.
	return r, nil
}
