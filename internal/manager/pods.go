package manager

import (
	"context"
	"fmt"
	"os"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"example.com/nginx-operator/internal/cache/cacheconf"
	cachecontroller "example.com/nginx-operator/internal/cache/controller"
	"example.com/nginx-operator/internal/cache/purgecontroller"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/kube/optional"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/apply"
	nginxcontroller "example.com/nginx-operator/internal/nginx/controller"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/internal/nginx/pipeline"
	"example.com/nginx-operator/internal/nginx/revision"
)

// podControllers adds the controllers of the kinds that have nginx pods, and holds what they share.
type podControllers struct {
	mgr     ctrl.Manager
	options Options
	// references holds the metadata of all ConfigMaps.
	references ctrlcache.Cache
	keys       pipeline.KeyRing
	// optional are the kinds of applications that the cluster may lack.
	optional *optional.Kinds
}

// addPodControllers adds the controllers in the options.
func addPodControllers(ctx context.Context, mgr ctrl.Manager, options Options, content *content, keys pipeline.KeyRing) error {
	references, err := options.newReferences(mgr.GetConfig(), mgr)
	if err != nil {
		return err
	}
	if err := mgr.Add(references); err != nil {
		return err
	}
	if err := observe.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	kinds, err := addOptionalKinds(mgr, options, content)
	if err != nil {
		return fmt.Errorf("look for kinds that the cluster may lack: %w", err)
	}
	c := podControllers{mgr, options, references, keys, kinds}
	if options.runs(ControllerNginx) {
		if err := c.addNginx(); err != nil {
			return fmt.Errorf("add the NginxOperator controller: %w", err)
		}
	}
	if options.runs(ControllerCache) {
		if err := c.addCache(); err != nil {
			return fmt.Errorf("add the NginxCache controller: %w", err)
		}
		if err := c.addPurges(ctx); err != nil {
			return fmt.Errorf("add the NginxCachePurge controller: %w", err)
		}
	}
	return nil
}

func (c podControllers) addNginx() error {
	reconciler := &nginxcontroller.Reconciler{
		Client:   c.mgr.GetClient(),
		Recorder: c.mgr.GetEventRecorder(naming.FieldManager),
		Pipeline: c.pipeline(application.KindDeployment),
		Optional: c.optional,
	}
	return reconciler.SetupWithManager(c.mgr, c.references, c.options.Concurrency)
}

func (c podControllers) addCache() error {
	reconciler := &cachecontroller.Reconciler{
		Client:     c.mgr.GetClient(),
		Live:       c.mgr.GetAPIReader(),
		References: c.references,
		Recorder:   c.mgr.GetEventRecorder(naming.FieldManager),
		Pipeline:   c.pipeline(application.KindStatefulSet),
		Cluster:    cacheconf.Cluster{Domain: c.options.clusterDomain(), IPFamily: ipFamily(os.Getenv)},
		Clock:      clock.RealClock{},
	}
	reconciler.Pipeline.Options.Claims = []string{naming.VolumeObjects}
	return reconciler.SetupWithManager(c.mgr, c.references, c.options.Concurrency)
}

func (c podControllers) addPurges(ctx context.Context) error {
	reconciler := &purgecontroller.Reconciler{
		Client:    c.mgr.GetClient(),
		Live:      c.mgr.GetAPIReader(),
		Instances: instanceapi.NewClient(instanceTimeout),
		Keys:      c.keys.Keys,
		Recorder:  c.mgr.GetEventRecorder(naming.FieldManager),
		Clock:     clock.RealClock{},
	}
	return reconciler.SetupWithManager(ctx, c.mgr, c.options.Concurrency)
}

// pipeline returns what makes the passes over applications with a kind of workload.
func (c podControllers) pipeline(workload string) *pipeline.Pipeline {
	instances := instanceapi.NewClient(instanceTimeout)
	routed := c.optional.Client(c.mgr.GetClient())
	observer := observe.New(routed, c.references, c.mgr.GetAPIReader(), instances.Status, desired.Kinds(workload)).
		WithOptionalKinds(observe.OptionalKinds{Kinds: desired.OptionalKinds(workload), Available: c.optional, Declared: desired.Declared})
	return &pipeline.Pipeline{
		Histories: c.mgr.GetClient(),
		Observer:  observer,
		Applier:   apply.New(routed, c.mgr.GetAPIReader()),
		SendOrder: instances.Order,
		Keys:      c.keys,
		Requests:  instances.Requests,
		Options: revision.Options{
			DefaultImage: c.options.DefaultImage, InstanceImage: c.options.InstanceImage, Pods: c.options.podSettings(), IPFamily: ipFamily(os.Getenv),
		},
		RenewPods: c.options.RenewPods,
		Clock:     clock.RealClock{},
	}
}
