// Package kubelet stands in for the scheduler and the kubelets of a bare control plane, for pods of
// nginx. Every pod runs at once, with a stand-in for the instance manager at its address. A pod
// appears to have been ready for a minute, so that tests do not wait for time to pass.
package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/observe"
	"example.com/nginx-operator/test/standin/census"
	"example.com/nginx-operator/test/standin/instance"
)

// workers is the number of pods that are handled concurrently.
const workers = 8

// Kubelet runs the pods of a cluster.
type Kubelet struct {
	census.Census

	client client.Client
	cache  cache.Cache
	queue  workqueue.TypedRateLimitingInterface[client.ObjectKey]
	// others reports whether a namespace is left to another component.
	others func(namespace string) bool

	mu        sync.Mutex
	instances map[client.ObjectKey]*instance.Instance
	// volumes are those of the pods of caches.
	volumes map[client.ObjectKey]*instance.Volume
	// disturbances wrap the handlers of the instances of a namespace.
	disturbances map[string]func(pod string, answer http.Handler) http.Handler
	// books records what instances do with revisions.
	books books
	nodes nodes
}

// Option changes a Kubelet before it starts.
type Option func(*Kubelet)

// Except leaves the pods of some namespaces to another component.
func Except(others func(namespace string) bool) Option {
	return func(k *Kubelet) { k.others = others }
}

// Start runs pods until the context ends.
func Start(ctx context.Context, config *rest.Config, options ...Option) (*Kubelet, error) {
	k := &Kubelet{
		queue:        workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[client.ObjectKey](10*time.Millisecond, time.Second)),
		instances:    map[client.ObjectKey]*instance.Instance{},
		volumes:      map[client.ObjectKey]*instance.Volume{},
		disturbances: map[string]func(string, http.Handler) http.Handler{},
		books:        books{namespaces: map[string]*book{}},
		others:       func(string) bool { return false },
	}
	for _, option := range options {
		option(k)
	}
	var err error
	scheme := runtime.NewScheme()
	if err := errors.Join(clientscheme.AddToScheme(scheme), cachev1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	if k.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if k.cache, err = cache.New(config, cache.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if err := errors.Join(k.watch(ctx), k.watchCaches(ctx)); err != nil {
		return nil, err
	}
	go func() { _ = k.cache.Start(ctx) }() // it fails only if it was started before
	if !k.cache.WaitForCacheSync(ctx) {
		return nil, errors.New("the stand-in of the kubelets sees no pods")
	}
	k.work(ctx)
	return k, nil
}

// watch watches pods, and what they mount.
func (k *Kubelet) watch(ctx context.Context) error {
	pods, err := k.cache.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return err
	}
	configMaps, err := k.cache.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		return err
	}
	if _, err := k.cache.GetInformer(ctx, &corev1.Secret{}); err != nil {
		return err
	}
	if _, err := pods.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { k.see(ctx, pod, false) },
		UpdateFunc: func(_, pod any) { k.see(ctx, pod, false) },
		DeleteFunc: func(pod any) { k.see(ctx, pod, true) },
	}); err != nil {
		return err
	}
	_, err = configMaps.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, configMap any) { k.deliver(ctx, configMap) },
	})
	return err
}

// deliver delivers a changed candidate with its trust file to the pods that mount it. Instances read everything else
// when they are queried.
func (k *Kubelet) deliver(ctx context.Context, object any) {
	cm, ok := object.(*corev1.ConfigMap)
	if !ok || len(cm.BinaryData) == 0 || k.others(cm.Namespace) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, running := range k.instances {
		if key.Namespace == cm.Namespace && naming.ConfigMapNext(running.App()) == cm.Name {
			go running.Deliver(ctx)
		}
	}
}

// Disturb wraps the handlers of the instances that start in a namespace from now on.
func (k *Kubelet) Disturb(namespace string, by func(pod string, answer http.Handler) http.Handler) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.disturbances[namespace] = by
}

// Forget ends the instances of a namespace and leaves the pods as they are.
func (k *Kubelet) Forget(namespace string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.disturbances, namespace)
	k.Census.Forget(namespace)
	k.books.forget(namespace)
	k.nodes.forget(namespace)
	var errs []error
	for key, i := range k.instances {
		if key.Namespace == namespace {
			errs = append(errs, i.Close())
			delete(k.instances, key)
			delete(k.volumes, key)
		}
	}
	return errors.Join(errs...)
}

// ForgetAll does the same for all namespaces.
func (k *Kubelet) ForgetAll() error {
	namespaces := map[string]bool{}
	k.mu.Lock()
	for key := range k.instances {
		namespaces[key.Namespace] = true
	}
	k.mu.Unlock()
	var errs []error
	for namespace := range namespaces {
		errs = append(errs, k.Forget(namespace))
	}
	return errors.Join(errs...)
}

// Busy reports whether pods are starting or ending, which takes no time here.
func (k *Kubelet) Busy(string) bool { return false }

// Expect starts to count the ready pods of a namespace and to check what their instances are
// requested to load.
func (k *Kubelet) Expect(namespace string) {
	k.Census.Expect(namespace)
	k.books.open(namespace)
}

// Served returns what each ready pod of a namespace serves.
func (k *Kubelet) Served(namespace string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var texts []string
	for _, name := range k.Ready(namespace) {
		if i := k.instances[client.ObjectKey{Namespace: namespace, Name: name}]; i != nil {
			texts = append(texts, i.Text())
		}
	}
	return texts
}

// ServedSince returns how many instances of an application serve a revision, and since when all of them do.
func (k *Kubelet) ServedSince(app client.ObjectKey, revision string) (instances int, since time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, i := range k.instances {
		if key.Namespace != app.Namespace || i.App() != app.Name {
			continue
		}
		serving, began := i.Since()
		if serving != revision {
			continue
		}
		instances++
		if began.After(since) {
			since = began
		}
	}
	return instances, since
}

// Broken describes the first load since Expect that an instance of the namespace must not have been
// requested to make. It is empty if there was none.
func (k *Kubelet) Broken(namespace string) string { return k.books.broken(namespace) }

// see records the state of a pod and enqueues the pod.
func (k *Kubelet) see(ctx context.Context, object any, gone bool) {
	if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Labels[v1alpha2.LabelNginxOperator] == "" || k.others(pod.Namespace) {
		return
	}
	k.See(pod, gone)
	if gone {
		go k.checkRemoved(ctx, pod)
	}
	k.queue.Add(client.ObjectKeyFromObject(pod))
}

func (k *Kubelet) work(ctx context.Context) {
	context.AfterFunc(ctx, k.queue.ShutDown)
	for range workers {
		go func() {
			for {
				key, over := k.queue.Get()
				if over {
					return
				}
				if err := k.sync(ctx, key); err != nil && ctx.Err() == nil {
					k.queue.AddRateLimited(key)
				} else {
					k.queue.Forget(key)
				}
				k.queue.Done(key)
			}
		}()
	}
}

// sync starts the instance of a pod that has none, and ends the instance of a pod that is gone.
func (k *Kubelet) sync(ctx context.Context, key client.ObjectKey) error {
	pod := &corev1.Pod{}
	err := k.cache.Get(ctx, key, pod)
	switch {
	case apierrors.IsNotFound(err):
		k.nodes.leave(key)
		return k.end(key)
	case err != nil:
		return err
	case pod.DeletionTimestamp != nil:
		return k.finish(ctx, pod)
	case strings.Contains(Image(&pod.Spec), Spread) && pod.Spec.NodeName == "":
		return k.bind(ctx, pod)
	case k.nodes.isLost(pod):
		return nil
	case pod.Status.PodIP != "":
		return k.probe(ctx, pod)
	case len(pod.Status.ContainerStatuses) > 0:
		// The image cannot be started.
		return nil
	}
	if err := errors.Join(k.mounted(ctx, pod), k.checkEdge(ctx, pod)); err != nil {
		return err
	}
	return k.run(ctx, pod)
}

// run starts a pod and reports its status.
func (k *Kubelet) run(ctx context.Context, pod *corev1.Pod) error {
	key, image := client.ObjectKeyFromObject(pod), Image(&pod.Spec)
	ip, ready, started := "192.0.2.1", true, starts(pod)
	if started {
		k.books.enter(key, templateOf(pod))
		running, err := k.begin(ctx, pod)
		if err != nil {
			return err
		}
		ip, ready = running.IP, !running.Down()
	}
	pod = pod.DeepCopy()
	pod.Status = Status(ip, image)
	if !started && strings.Contains(image, Absent) {
		pod.Status = pullFailed(image)
	}
	if !ready {
		pod.Status.Conditions[0].Status, pod.Status.ContainerStatuses[0].Ready = corev1.ConditionFalse, false
	}
	// After a conflict, the next sync reports the status. The instance goes on: the pod that the cache holds may be older than
	// the status that was reported.
	return k.client.Status().Update(ctx, pod)
}

// templateOf identifies the template of a pod.
func templateOf(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey], pod.Labels[appsv1.ControllerRevisionHashLabelKey])
}

// probe updates the status of a pod that serves after it could not boot.
func (k *Kubelet) probe(ctx context.Context, pod *corev1.Pod) error {
	k.mu.Lock()
	running := k.instances[client.ObjectKeyFromObject(pod)]
	k.mu.Unlock()
	if running == nil || running.Down() || observe.Ready(pod) {
		return nil
	}
	pod = pod.DeepCopy()
	pod.Status = Status(running.IP, Image(&pod.Spec))
	return k.client.Status().Update(ctx, pod)
}

// mounted returns an error if a ConfigMap that a pod mounts is missing. Without it, the pod does
// not start.
func (k *Kubelet) mounted(ctx context.Context, pod *corev1.Pod) error {
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap == nil || ptr.Deref(v.ConfigMap.Optional, false) {
			continue
		}
		if err := k.cache.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: v.ConfigMap.Name}, &corev1.ConfigMap{}); err != nil {
			return fmt.Errorf("mount %s: %w", v.Name, err)
		}
	}
	return nil
}

func (k *Kubelet) begin(ctx context.Context, pod *corev1.Pod) (*instance.Instance, error) {
	key, app := client.ObjectKeyFromObject(pod), pod.Labels[v1alpha2.LabelNginxOperator]
	k.mu.Lock()
	disturb, running := k.disturbances[key.Namespace], k.instances[key]
	k.mu.Unlock()
	options := []instance.Option{instance.Watched(watcher{&k.books, k}), instance.Up(func() { k.queue.Add(key) })}
	if disturb != nil {
		options = append(options, instance.Disturbed(func(answer http.Handler) http.Handler { return disturb(key.Name, answer) }))
	}
	if running != nil && running.UID == pod.UID {
		return running, nil
	}
	if running != nil {
		// The pod of a StatefulSet was replaced by one of the same name.
		if err := k.end(key); err != nil {
			return nil, err
		}
		k.books.enter(key, templateOf(pod))
	}
	options = append(options, instance.Caches(k.volumeOf(pod)))
	started, err := instance.Start(ctx, k.cache, key, app, options...)
	if err != nil {
		return nil, fmt.Errorf("start the instance of pod %s: %w", key, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.instances[key] = started
	return started, nil
}

func (k *Kubelet) end(key client.ObjectKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	running := k.instances[key]
	delete(k.instances, key)
	k.books.leave(key)
	if running == nil {
		return nil
	}
	return running.Close()
}
