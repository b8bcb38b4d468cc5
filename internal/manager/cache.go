package manager

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	cachev1alpha1 "example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/boundedjson"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/kube/cachedcontent"
	"example.com/nginx-operator/internal/kube/caches"
	"example.com/nginx-operator/internal/kube/webhookcert"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/desired"
	"example.com/nginx-operator/internal/nginx/naming"
)

// cacheOptions restricts the caches to the operator's objects, and to the fields that it reads. A
// cache of every ConfigMap or Pod of a cluster would sooner or later run out of memory.
func (o *Options) cacheOptions(content *content) ctrlcache.Options {
	shared := newValuePool()
	byObject := map[client.Object]ctrlcache.ByObject{
		&v1alpha2.NginxOperator{}:                   {Transform: shared.Sharing(ctrlcache.TransformStripManagedFields())},
		&corev1.Pod{}:                               {Label: naming.OwnedSelector(), Transform: shared.Sharing(content.pods())},
		&appsv1.ReplicaSet{}:                        {Label: naming.OwnedSelector(), Transform: trimReplicaSet},
		&autoscalingv2.HorizontalPodAutoscaler{}:    {Transform: trimAutoscaler},
		&batchv1.Job{}:                              {Label: jobSelector(), Transform: content.jobs()},
		&appsv1.ControllerRevision{}:                {Label: naming.OwnedSelector(), Transform: shared.Sharing(content.revisions())},
		&apiextensionsv1.CustomResourceDefinition{}: {Field: named(CRDName), Transform: webhookcert.TrimCRD},
		&corev1.Secret{}: {
			Namespaces: map[string]ctrlcache.Config{o.OwnNamespace: {FieldSelector: named(o.WebhookSecret)}},
			// It is updated as a whole, with the metadata of who installs it.
			Transform: ctrlcache.TransformStripManagedFields(),
		},
	}
	kinds := desired.DistinctKinds(application.KindDeployment)
	if o.runs(ControllerCache) {
		byObject[&corev1.PersistentVolumeClaim{}] = ctrlcache.ByObject{Label: naming.OwnedSelector(), Transform: trimClaim}
		byObject[&cachev1alpha1.NginxCache{}] = ctrlcache.ByObject{Transform: ctrlcache.TransformStripManagedFields()}
		kinds = append(kinds, desired.Kind(application.KindStatefulSet, application.KindStatefulSet))
	}
	for _, kind := range kinds {
		byObject[kind.New()] = ctrlcache.ByObject{Label: naming.OwnedSelector(), Transform: shared.Sharing(content.owned(kind))}
	}
	return ctrlcache.Options{
		ByObject:                 byObject,
		DefaultNamespaces:        o.cachedNamespaces(),
		DefaultTransform:         trimDeclared,
		DefaultWatchErrorHandler: countWatchErrors,
	}
}

// trimDeclared removes from an object that a user declares the metadata that only its users read. Of what remains, the schema
// bounds the size.
func trimDeclared(obj any) (any, error) {
	object, ok := obj.(client.Object)
	if !ok {
		return obj, nil
	}
	object.SetManagedFields(nil)
	object.SetGenerateName("")
	object.SetSelfLink("")
	object.SetOwnerReferences(cachedcontent.Controller(object))
	object.SetLabels(ours(object.GetLabels()))
	object.SetAnnotations(ours(object.GetAnnotations()))
	if boundedjson.Size(object.GetFinalizers()) > maxMetadata {
		cachedcontent.RemoveFinalizers(object, backupv1alpha1.Finalizer)
	}
	return object, nil
}

// maxMetadata bounds the labels, the annotations and the finalizers of an object that a user declares, in bytes.
const maxMetadata = 16 << 10

// ours returns those labels or annotations that are the operator's; none if a user has given it too many.
func ours(all map[string]string) map[string]string {
	kept := selected(all, func(name string) bool {
		domain, _, _ := strings.Cut(name, "/")
		return domain+"/" == naming.Prefix || strings.HasSuffix(domain+"/", "."+naming.Prefix)
	})
	if boundedjson.Size(kept) > maxMetadata {
		return nil
	}
	return kept
}

// selected returns the entries whose names are wanted; nil if there are none. A map that has lost its entries would still take
// the memory of all.
func selected(all map[string]string, wanted func(name string) bool) (kept map[string]string) {
	for name, value := range all {
		if !wanted(name) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[name] = value
	}
	return kept
}

// newValuePool returns a pool for the values of cached objects.
func newValuePool() *caches.ValuePool {
	return caches.NewValuePool(naming.LabelApplication, func(obj any) []metav1.Condition {
		if nginx, ok := obj.(*v1alpha2.NginxOperator); ok {
			return nginx.Status.Conditions
		}
		return nil
	})
}

func named(name string) fields.Selector {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, name)
}

func (o *Options) cachedNamespaces() map[string]ctrlcache.Config {
	if len(o.Namespaces) == 0 {
		return nil
	}
	namespaces := map[string]ctrlcache.Config{}
	for _, namespace := range o.Namespaces {
		namespaces[namespace] = ctrlcache.Config{}
	}
	return namespaces
}

// newReferences returns a cache with the metadata of all ConfigMaps. They cannot be selected, since
// the references to them change all the time, and their metadata is small. The main cache filters
// ConfigMaps by label, so this is a separate one.
func (o *Options) newReferences(config *rest.Config, c cluster.Cluster) (ctrlcache.Cache, error) {
	return caches.NewConcurrent(config, ctrlcache.Options{
		HTTPClient:        c.GetHTTPClient(),
		Scheme:            c.GetScheme(),
		Mapper:            c.GetRESTMapper(),
		DefaultNamespaces: o.cachedNamespaces(),
		DefaultTransform:  newValuePool().Sharing(trimReference),

		DefaultWatchErrorHandler: countWatchErrors,
	})
}

// identity returns what identifies the version of an object. Of the other metadata, users can make most as large as they like.
func identity(o *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Generation: o.Generation,
		CreationTimestamp: o.CreationTimestamp, DeletionTimestamp: o.DeletionTimestamp,
	}
}

// trimReference keeps what identifies the version of a ConfigMap, and the label that marks it as
// the operator's own. Of the one with the purges of a cache, it keeps what the cache controller reads.
func trimReference(obj any) (any, error) {
	meta, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, nil
	}
	all := meta.ObjectMeta
	meta.ObjectMeta = identity(&all)
	if owner := all.Labels[naming.LabelApplication]; owner != "" {
		meta.Labels = map[string]string{naming.LabelApplication: owner}
	}
	owners := cachedcontent.Controller(&all)
	if len(owners) > 0 && owners[0].Kind == cachev1alpha1.Kind && meta.Name == cachev1alpha1.PurgesName(owners[0].Name) {
		keys := all.Annotations[purge.AnnotationKeys]
		if len(keys) > purge.MaxKeysText {
			keys = purge.TooManyKeys
		}
		meta.Labels = map[string]string{cachev1alpha1.LabelNginxCache: all.Labels[cachev1alpha1.LabelNginxCache]}
		meta.Annotations, meta.OwnerReferences = map[string]string{purge.AnnotationKeys: keys}, owners
	}
	return obj, nil
}

// trimPod keeps the fields that conditions depend on.
func trimPod(obj any) (any, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return obj, nil
	}
	all := pod.ObjectMeta
	pod.ObjectMeta = identity(&all)
	pod.Labels, pod.OwnerReferences = all.Labels, cachedcontent.Controller(&all)
	pod.Annotations = selected(all.Annotations, func(name string) bool { return strings.HasPrefix(name, naming.Prefix) })
	var containers []corev1.Container
	for _, c := range pod.Spec.Containers {
		containers = append(containers, corev1.Container{Name: c.Name, Image: c.Image})
	}
	pod.Spec = corev1.PodSpec{Containers: containers, NodeName: pod.Spec.NodeName, ImagePullSecrets: pod.Spec.ImagePullSecrets}
	var conditions []corev1.PodCondition
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			conditions = append(conditions, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	pod.Status = corev1.PodStatus{
		Phase:                 pod.Status.Phase,
		PodIP:                 pod.Status.PodIP,
		Conditions:            conditions,
		InitContainerStatuses: pod.Status.InitContainerStatuses,
		ContainerStatuses:     pod.Status.ContainerStatuses,
	}
	return pod, nil
}

// trimClaim keeps the size of the volume of a shard, and to which cache it belongs. Users can request any number of other
// resources, with any name.
func trimClaim(obj any) (any, error) {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok {
		return obj, nil
	}
	labels := claim.Labels
	claim.ObjectMeta = identity(&claim.ObjectMeta)
	claim.Labels = selected(labels, func(name string) bool { return slices.Contains(keptLabels, name) })
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		Resources:        corev1.VolumeResourceRequirements{Requests: storageOf(claim.Spec.Resources.Requests)},
		StorageClassName: claim.Spec.StorageClassName,
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase, Capacity: storageOf(claim.Status.Capacity)}
	return claim, nil
}

// storageOf returns the amount of storage, and of no other resource; nil: there is none.
func storageOf(resources corev1.ResourceList) corev1.ResourceList {
	if storage, ok := resources[corev1.ResourceStorage]; ok {
		return corev1.ResourceList{corev1.ResourceStorage: storage}
	}
	return nil
}

// trimReplicaSet keeps what says to which application the pods of a ReplicaSet belong.
func trimReplicaSet(obj any) (any, error) {
	if meta, ok := obj.(*metav1.PartialObjectMetadata); ok {
		all := meta.ObjectMeta
		meta.ObjectMeta = identity(&all)
		meta.Labels = map[string]string{naming.LabelApplication: all.Labels[naming.LabelApplication]}
		meta.OwnerReferences = cachedcontent.Controller(&all)
	}
	return obj, nil
}

// maxTarget bounds the reference of an autoscaler to its target, in bytes. The API server does not.
const maxTarget = 1 << 10

// trimAutoscaler keeps only the target of an autoscaler, unless it is too long to refer to an object.
func trimAutoscaler(obj any) (any, error) {
	hpa, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return obj, nil
	}
	hpa.ObjectMeta = identity(&hpa.ObjectMeta)
	target := hpa.Spec.ScaleTargetRef
	if len(target.APIVersion)+len(target.Kind)+len(target.Name) > maxTarget {
		target = autoscalingv2.CrossVersionObjectReference{}
	}
	hpa.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: target}
	hpa.Status = autoscalingv2.HorizontalPodAutoscalerStatus{}
	return hpa, nil
}
