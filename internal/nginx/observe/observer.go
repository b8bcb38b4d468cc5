package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/internal/kube/owned"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/nginxconf"
)

// Observer reads the cluster, from caches if possible.
type Observer struct {
	// cache holds the operator's own objects and the NginxOperators.
	cache client.Reader
	// references holds the metadata of all ConfigMaps.
	references client.Reader
	// live reads the content of a referenced ConfigMap.
	live client.Reader
	// answers are the cached answers of the instances.
	answers *instances
	// kinds are the kinds that an application owns.
	kinds []owned.Kind
	// optional are those that the cluster may lack.
	optional OptionalKinds
}

// New returns an Observer. cache holds owned objects and autoscalers, references the metadata of ConfigMaps, live
// reads from the API server, and get returns the status of an instance.
func New(cache, references, live client.Reader, get StatusGetter, kinds []owned.Kind) *Observer {
	return &Observer{cache: cache, references: references, live: live, answers: newInstances(get), kinds: kinds}
}

// Bounds of what is cached of the ConfigMaps and large other objects of applications, in bytes of memory: those of 100
// applications with 160 KiB of configuration fit into a namespace. Others are read from the API server when they are needed.
const (
	MaxObjectsOfNamespace = 32 << 20
	MaxObjects            = 128 << 20
)

// Forget drops what is known of an NginxOperator that is gone.
func (o *Observer) Forget(key types.NamespacedName) { o.answers.forget(key) }

// Observe reads everything that a pass for nginx decides from. It returns ErrUnanswered while instances have not
// answered, and ErrStaleCache if the cache shows an older spec than the objects were written for.
func (o *Observer) Observe(ctx context.Context, app *application.Application) (State, error) {
	state := State{Owned: map[owned.Key]owned.Object{}}
	for _, step := range []func(context.Context, *application.Application, *State) error{
		o.owned, o.optionalKinds, o.pods, o.instances, o.autoscaler, o.history, o.source, o.content, o.verifySpecFresh, o.unlabelled,
	} {
		if err := step(ctx, app, &state); err != nil {
			return State{}, err
		}
	}
	return state, nil
}

func (o *Observer) owned(ctx context.Context, app *application.Application, state *State) error {
	for _, kind := range o.kinds {
		obj := kind.New()
		key := types.NamespacedName{Namespace: app.Namespace, Name: kind.ObjectName(app.Name)}
		why, err := o.whole().Get(ctx, app, key, obj)
		if err := addOwned(state, kind.Name, key.Name, obj, why, err); err != nil {
			return err
		}
	}
	if app.Stateful == nil || !app.Stateful.PodServices {
		return nil
	}
	return o.podServices(ctx, app, state)
}

// maxPods is how many pods of an application can have a Service of their own: as many as a cache can have shards.
const maxPods = 64

// podServices reads the Services of single pods, also of pods that there should not be any more.
func (o *Observer) podServices(ctx context.Context, app *application.Application, state *State) error {
	list := &corev1.ServiceList{}
	err := o.cache.List(ctx, list, client.InNamespace(app.Namespace), client.MatchingLabels(naming.SelectorLabels(app.Name)))
	if err != nil {
		return fmt.Errorf("list the Services of the pods: %w", err)
	}
	for i := range list.Items {
		service := &list.Items[i]
		if service.Name == naming.Service(app.Name) {
			continue
		}
		ordinal := naming.Ordinal(service.Name)
		ofPod := ordinal >= 0 && ordinal < maxPods && service.Name == naming.Pod(app.Name, int(ordinal))
		if err := o.addListed(ctx, app, "Service", service, ofPod, state); err != nil {
			return err
		}
	}
	return nil
}

func (o *Observer) pods(ctx context.Context, app *application.Application, state *State) error {
	pods := &corev1.PodList{}
	err := o.cache.List(ctx, pods,
		client.InNamespace(app.Namespace),
		client.MatchingFields{IndexApplication: app.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	owners := o.podOwners(app, state)
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			// A pod that has ended, such as an evicted one, no longer counts.
			continue
		}
		owner, err := owners.of(ctx, &pod)
		switch {
		case err != nil:
			return err
		case owner == ownerApplication:
			state.Pods = append(state.Pods, pod)
		case owner == ownerForeign && pod.DeletionTimestamp == nil:
			state.ForeignPods = append(state.ForeignPods, pod.Name)
		}
	}
	slices.Sort(state.ForeignPods)
	slices.SortFunc(state.Pods, func(a, b corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return nil
}

func (o *Observer) source(ctx context.Context, app *application.Application, state *State) error {
	if app.Spec.Config == nil || app.Spec.Config.ConfigMap == nil {
		return nil
	}
	name := app.Spec.Config.ConfigMap.Name
	state.Source = &Source{Name: name}
	meta, err := o.reference(ctx, app.Namespace, name)
	if err != nil || meta == nil {
		return err
	}
	if owner := meta.Labels[naming.LabelApplication]; owner != "" {
		state.Source = &Source{Name: name, Found: true, RenderedFor: owner}
		return nil
	}
	version := sourceVersion(meta)
	next := state.Config(naming.ConfigMapNext(app.Name))
	if Rendered(next) && metav1.IsControlledBy(next, app) && next.Annotations[naming.AnnotationConfigSourceVersion] == version {
		// The candidate is a copy of this version.
		state.Source = &Source{Name: name, Found: true, Version: version, Files: nginxconf.Files(next.Data).User()}
		return nil
	}
	return o.readSource(ctx, app.Namespace, state.Source)
}

// readSource reads a ConfigMap's content past the caches: holding every ConfigMap of the cluster in memory would be
// too much for the few that are referenced.
func (o *Observer) readSource(ctx context.Context, namespace string, source *Source) error {
	cm := &corev1.ConfigMap{}
	err := o.live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: source.Name}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", namespace, source.Name, err)
	}
	source.Found = true
	source.Version = sourceVersion(cm)
	source.Files = cm.Data
	source.HasBinary = len(cm.BinaryData) > 0
	return nil
}

func (o *Observer) content(ctx context.Context, app *application.Application, state *State) error {
	for _, c := range app.Spec.Content {
		if c.ConfigMap == nil {
			continue
		}
		meta, err := o.reference(ctx, app.Namespace, c.ConfigMap.Name)
		if err != nil {
			return err
		}
		if meta == nil {
			state.MissingContent = append(state.MissingContent, c.ConfigMap.Name)
			continue
		}
		state.ContentVersions = append(state.ContentVersions, sourceVersion(meta))
	}
	return nil
}

// reference returns the metadata of a ConfigMap, nil if there is none.
func (o *Observer) reference(ctx context.Context, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := o.references.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, meta)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up ConfigMap %s/%s: %w", namespace, name, err)
	}
	return meta, nil
}

// sourceVersion identifies the content of a ConfigMap. The UID distinguishes one that was deleted and created again.
func sourceVersion(obj metav1.Object) string {
	return fmt.Sprintf("%s/%s/%s", obj.GetName(), obj.GetUID(), obj.GetResourceVersion())
}
