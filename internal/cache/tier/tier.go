// Package tier turns an NginxCache into the two nginx applications that it consists of. It is pure.
package tier

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/internal/cache/handover"
	"example.com/nginx-operator/internal/cache/purge"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/application"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/nginx/podtemplate"
)

// setCacheDir tells the instance manager where the cache is, and mounts what it has to purge there.
func (b *builder) setCacheDir(app *application.Application, dir, purges string) {
	template := app.Spec.PodTemplate
	template.Env = append(slices.Clone(template.Env), corev1.EnvVar{Name: instanceapi.EnvCacheDir, Value: dir})
	template.Volumes = append(slices.Clone(template.Volumes), v1alpha2.Volume{Name: naming.VolumePurges, ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: v1alpha1.PurgesName(b.cache.Name)},
		Items:                []corev1.KeyToPath{{Key: purges, Path: instanceapi.FilePurges}},
	}})
	template.VolumeMounts = append(slices.Clone(template.VolumeMounts), v1alpha2.VolumeMount{Name: naming.VolumePurges, MountPath: instanceapi.DirPurges})
}

// defaultHotSize is the default of spec.edge.hotSize.
const defaultHotSize = 64 << 20

// Tiers are the two applications of a cache.
type Tiers struct {
	Edge, Shards *application.Application
	// Invalid is why the configuration cannot be written; nil if it can. The pods keep what they have.
	Invalid error
}

// Build returns the applications of a cache. The edges get the ring that
// the cache declares, and the number of shards is that of the plan.
func Build(cache *v1alpha1.NginxCache, cluster cacheconf.Cluster, volumes Volumes, plan handover.Plan, origins Origins, keys cacheconf.PeerKeys) Tiers {
	b := &builder{cache, volumes}
	shards := b.application(v1alpha1.ShardsName(cache.Name), v1alpha1.TierShards, cache.Status.Shards)
	edge := b.application(v1alpha1.EdgeName(cache.Name), v1alpha1.TierEdge, cache.Status.Edge)
	b.setShards(shards, plan.Shards)
	b.setEdge(edge)
	in := cacheconf.Input{
		Cache: cache, Cluster: cluster, Ports: origins.ports, Keys: keys,
		Shards:    cacheconf.NewPeers(shards.Name, cache.Namespace, cluster.Domain, Shards(cache)),
		Previous:  cacheconf.NewPeers(shards.Name, cache.Namespace, cluster.Domain, int(plan.Previous)),
		HotSize:   b.hotSize(),
		ShardSize: b.shardSize(),
		MinFree:   volumes.usable.Value() / 20,
	}
	edgeFiles, edgeErr := cacheconf.Edge(in)
	shardFiles, shardErr := cacheconf.Shard(in)
	invalid := cmp.Or(b.validate(), edgeErr, shardErr)
	if invalid != nil {
		// Without files, the stages of the pass keep the last configuration.
		edgeFiles, shardFiles = nil, nil
	}
	edge.Spec.Config, shards.Spec.Config = config(edgeFiles), config(shardFiles)
	return Tiers{Edge: edge, Shards: shards, Invalid: invalid}
}

func config(files cacheconf.Files) *v1alpha2.Config {
	config := &v1alpha2.Config{Files: map[string]v1alpha2.ConfigFile{}}
	for name, text := range files {
		config.Files[name] = v1alpha2.ConfigFile(text)
	}
	return config
}

type builder struct {
	cache   *v1alpha1.NginxCache
	volumes Volumes
}

// application returns an application with what both tiers have in common.
func (b *builder) application(name, tier string, before *v1alpha1.TierStatus) *application.Application {
	spec, meta := b.cache.Spec, b.cache.ObjectMeta
	nginx := &v1alpha2.NginxOperator{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: meta.Namespace, Name: name, UID: meta.UID, Generation: meta.Generation, Annotations: meta.Annotations,
		},
		Spec: v1alpha2.NginxOperatorSpec{
			Image:   spec.Image,
			Ports:   []v1alpha2.Port{{Name: "http", Port: cacheconf.Port, Protocol: corev1.ProtocolTCP}},
			Rollout: spec.Rollout,
			Drain:   spec.Drain,
			Suspend: spec.Suspend,
		},
	}
	template, invalid := b.podTemplate()
	nginx.Spec.PodTemplate = template
	labels := maps.Clone(template.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelNginxCache], labels[v1alpha1.LabelTier] = meta.Name, tier
	nginx.Spec.PodTemplate.Labels = labels
	if before != nil {
		nginx.Status = Previous(before)
	}
	return &application.Application{
		NginxOperator: nginx,
		Owner:         application.Owner{GVK: v1alpha1.GroupVersion.WithKind(v1alpha1.Kind), Name: meta.Name, UID: meta.UID},
		Invalid:       invalid,
		Stateful:      &application.Stateful{},
	}
}

// Edges returns the number of edges that a cache declares.
func Edges(cache *v1alpha1.NginxCache) int {
	return int(ptr.Deref(cache.Spec.Edge.Replicas, defaultReplicas))
}

// Shards returns the number of shards that a cache declares.
func Shards(cache *v1alpha1.NginxCache) int {
	return int(ptr.Deref(cache.Spec.Shards.Replicas, defaultReplicas))
}

// HandOverTime returns how long objects are handed over. More than a year is a year.
func HandOverTime(cache *v1alpha1.NginxCache) time.Duration {
	const year = 365 * 24 * 60 * 60
	return time.Duration(min(cacheconf.Seconds(cache.Spec.Shards.HandOver), year)) * time.Second
}

// defaultReplicas is the number of pods of a tier that declares none.
const defaultReplicas = 2

// setReplicas sets the number of pods. A rollout and evictions take one pod away at a time.
func setReplicas(app *application.Application, replicas *int32) {
	app.Spec.Replicas = new(ptr.Deref(replicas, defaultReplicas))
	rollout := ptr.Deref(app.Spec.Rollout, v1alpha2.Rollout{})
	rollout.MaxUnavailable = nil
	if *app.Spec.Replicas > 1 {
		rollout.MaxUnavailable = new(intstr.FromInt32(1))
	}
	app.Spec.Rollout = &rollout
	app.Spec.Disruption = &v1alpha2.Disruption{MaxUnavailable: new(intstr.FromInt32(1))}
}

// setEdge sets what only the edges have.
func (b *builder) setEdge(edge *application.Application) {
	want := b.cache.Spec.Edge
	setReplicas(edge, want.Replicas)
	edge.Spec.Resources = want.Resources
	edge.Spec.Service, edge.Spec.NetworkPolicy = b.cache.Spec.Service, b.cache.Spec.NetworkPolicy
	for _, c := range b.cache.Spec.TLS {
		edge.Spec.TLS = append(edge.Spec.TLS, v1alpha2.Certificate{Name: c.Name, SecretName: c.SecretName})
	}
	if len(edge.Spec.TLS) > 0 {
		edge.Spec.Ports = append(edge.Spec.Ports, v1alpha2.Port{Name: "https", Port: cacheconf.TLSPort, Protocol: corev1.ProtocolTCP})
	}
	// nginx keeps to the size of its cache with a delay. What does not fit in the meantime is not stored.
	limit := resource.NewQuantity(b.hotSize()+b.hotSize()/2, resource.BinarySI)
	template := edge.Spec.PodTemplate
	template.Volumes = append(slices.Clone(template.Volumes), v1alpha2.Volume{
		Name: naming.VolumeHot, EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: limit},
	})
	template.VolumeMounts = append(slices.Clone(template.VolumeMounts), v1alpha2.VolumeMount{Name: naming.VolumeHot, MountPath: cacheconf.Dir})
	b.setCacheDir(edge, cacheconf.Dir, purge.KeyEdge)
}

// edgesFollow is how many seconds a shard is ready before a rollout replaces the next one: the edges learn a moment late where
// it is, and would not request from it what the next one hands over.
const edgesFollow int32 = 5

// setShards sets what only the shards have.
func (b *builder) setShards(shards *application.Application, replicas int32) {
	want := b.cache.Spec.Shards
	setReplicas(shards, &replicas)
	if shards.Spec.Rollout.MinReadySeconds == nil {
		shards.Spec.Rollout.MinReadySeconds = new(edgesFollow)
	}
	shards.Spec.Resources = want.Resources
	template := shards.Spec.PodTemplate
	template.VolumeMounts = append(slices.Clone(template.VolumeMounts), v1alpha2.VolumeMount{Name: naming.VolumeObjects, MountPath: cacheconf.Dir})
	b.setCacheDir(shards, cacheconf.Dir, purge.KeyShards)
	// Shards request from each other while objects are handed over.
	shards.Spec.NetworkPolicy = &v1alpha2.NetworkPolicy{IngressFrom: []networkingv1.NetworkPolicyPeer{
		{PodSelector: &metav1.LabelSelector{MatchLabels: naming.SelectorLabels(v1alpha1.EdgeName(b.cache.Name))}},
		{PodSelector: &metav1.LabelSelector{MatchLabels: naming.SelectorLabels(v1alpha1.ShardsName(b.cache.Name))}},
	}}
	claim := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithVolumeMode(corev1.PersistentVolumeFilesystem).
		WithResources(corev1ac.VolumeResourceRequirements().WithRequests(corev1.ResourceList{corev1.ResourceStorage: b.volumes.template}))
	claim.StorageClassName = b.volumes.class
	shards.Stateful = &application.Stateful{
		Headless:                true,
		PodServices:             true,
		Claims:                  []*corev1ac.PersistentVolumeClaimApplyConfiguration{(&corev1ac.PersistentVolumeClaimApplyConfiguration{}).WithName(naming.VolumeObjects).WithSpec(claim)},
		DeleteClaimsWhenScaled:  ptr.Deref(want.Storage.WhenScaled, v1alpha1.VolumeDelete) == v1alpha1.VolumeDelete,
		DeleteClaimsWhenDeleted: ptr.Deref(want.Storage.WhenDeleted, v1alpha1.VolumeDelete) == v1alpha1.VolumeDelete,
	}
}

func (b *builder) hotSize() int64 {
	if q := b.cache.Spec.Edge.HotSize; q != nil {
		return q.Value()
	}
	return defaultHotSize
}

// shardSize returns how much of its volume a shard fills. A file system needs some of it for itself. While volumes grow,
// it is no more than fits on the smallest one.
func (b *builder) shardSize() int64 {
	fits := b.volumes.usable.Value() / 10 * 9
	q := b.cache.Spec.Shards.CacheSize
	switch {
	case q == nil:
		return fits
	case b.volumes.usable.Cmp(b.cache.Spec.Shards.Storage.Size) < 0:
		return min(q.Value(), fits)
	}
	return q.Value()
}

// The least sizes that a cache is useful with, in bytes.
const (
	minHotSize   = 1 << 20
	minShardSize = 8 << 20
)

// podTemplate returns the user's part of the template, to which a tier adds volumes, and why it must not be carried out; empty:
// it may. It uses none of the operator's volumes.
func (b *builder) podTemplate() (template *v1alpha2.PodTemplate, invalid string) {
	template = new(ptr.Deref(b.cache.Spec.PodTemplate, v1alpha2.PodTemplate{})).DeepCopy()
	template.Volumes = slices.DeleteFunc(template.Volumes, func(v v1alpha2.Volume) bool {
		reserved := slices.Contains(naming.CacheVolumes, v.Name)
		if reserved {
			invalid = fmt.Sprintf("spec.podTemplate.volumes[%s] has a name of the operator: rename it", v.Name)
		}
		return reserved
	})
	invalid = cmp.Or(invalid, podtemplate.InvalidVolumes(template))
	template, _ = podtemplate.WithoutUndeclared(template)
	return template, invalid
}

// validate returns why the sizes or the volumes cannot be used; nil if they can.
func (b *builder) validate() error {
	storage := b.cache.Spec.Shards.Storage.Size
	switch _, invalid := b.podTemplate(); {
	case invalid != "":
		return errors.New(invalid)
	case b.hotSize() < minHotSize:
		return fmt.Errorf("spec.edge.hotSize is %s: it must be at least 1Mi", b.cache.Spec.Edge.HotSize)
	case b.shardSize() < minShardSize:
		return fmt.Errorf("spec.shards.cacheSize, or 90 %% of spec.shards.storage.size, is %d bytes: it must be at least 8Mi", b.shardSize())
	case b.shardSize() > storage.Value():
		return fmt.Errorf("spec.shards.cacheSize is %s, but spec.shards.storage.size is only %s", b.cache.Spec.Shards.CacheSize, storage.String())
	}
	return nil
}
