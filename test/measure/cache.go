package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// cacheEdges is the number of edges of a measured cache.
const cacheEdges = 2

// cacheShape is what measured caches differ in.
type cacheShape struct {
	edges, shards int32
	// storage is the size of each volume, and hotSize what an edge keeps in memory; empty: the default.
	storage, hotSize string
	// node selects the nodes that the pods run on; nil: any.
	node map[string]string
	// origin is the application that the cache is in front of.
	origin v1alpha2.NginxOperatorSpec
}

// cacheBench is a cache in front of an application.
type cacheBench struct {
	*bench
	origin *v1alpha2.NginxOperator
	cache  *v1alpha1.NginxCache
}

// cacheBench creates a cache with volumes of the default class, and waits until it is ready.
func (b *bench) cacheBench(ctx context.Context, shape cacheShape) (*cacheBench, error) {
	shape.origin.Image = new(b.newest())
	origin, err := b.create(ctx, "origin", shape.origin)
	if err != nil {
		return nil, err
	}
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "front"}}
	cache.Spec = v1alpha1.NginxCacheSpec{
		Image:   new(b.newest()),
		Origins: []v1alpha1.Origin{{Name: "app", Service: &v1alpha1.ServiceReference{Name: origin.Name, Port: originPort}}},
		Edge:    v1alpha1.Edge{Replicas: &shape.edges},
		Shards:  v1alpha1.Shards{Replicas: &shape.shards, Storage: v1alpha1.Storage{Size: resource.MustParse(shape.storage)}},
	}
	if shape.node != nil {
		cache.Spec.PodTemplate = &v1alpha2.PodTemplate{NodeSelector: shape.node}
	}
	if shape.hotSize != "" {
		cache.Spec.Edge.HotSize = new(resource.MustParse(shape.hotSize))
	}
	if err := b.client.Create(ctx, cache); err != nil {
		return nil, err
	}
	c := &cacheBench{bench: b, origin: origin, cache: cache}
	return c, c.waitReady(ctx)
}

// originPort is the port of the applications that measured caches are in front of.
const originPort = 8080

// originSpec returns the spec of such an application.
func originSpec(replicas int32, site string) v1alpha2.NginxOperatorSpec {
	return v1alpha2.NginxOperatorSpec{
		Replicas: &replicas, Config: config(map[string]string{"site.conf": site}),
		Ports: []v1alpha2.Port{{Name: "http", Port: originPort}},
	}
}

// get returns the answer of an edge.
func (c *cacheBench) get(ctx context.Context, edge int, path string) (string, error) {
	return c.getPod(ctx, fmt.Sprintf("%s-%d", v1alpha1.EdgeName(c.cache.Name), edge), path)
}

func (c *cacheBench) getPod(ctx context.Context, pod, path string) (string, error) {
	body, err := c.kube.CoreV1().RESTClient().Get().Namespace(c.namespace).Resource("pods").Name(pod + ":80").
		SubResource("proxy").Suffix(path).DoRaw(ctx)
	return string(body), err
}

// waitReady waits until the cache is Ready for its newest spec.
func (c *cacheBench) waitReady(ctx context.Context) error {
	return await(ctx, c.bench, c.cache, &v1alpha1.NginxCacheList{}, func() error {
		ready := meta.FindStatusCondition(c.cache.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case ready == nil:
			return errors.New("it has no status yet")
		case ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != c.cache.Generation:
			return fmt.Errorf("it is %s of generation %d: %s", ready.Reason, ready.ObservedGeneration, ready.Message)
		}
		return nil
	})
}

// purge purges URLs of the paths and waits until the purge is complete.
func (c *cacheBench) purge(ctx context.Context, spec v1alpha1.NginxCachePurgeSpec) error {
	spec.CacheRef.Name = c.cache.Name
	p := &v1alpha1.NginxCachePurge{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "purge-"}, Spec: spec}
	if err := c.client.Create(ctx, p); err != nil {
		return err
	}
	return await(ctx, c.bench, p, &v1alpha1.NginxCachePurgeList{}, func() error {
		complete := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionComplete)
		if complete == nil {
			return errors.New("it has no status yet")
		}
		if complete.Status != metav1.ConditionTrue {
			return fmt.Errorf("it is %s: %s", complete.Reason, complete.Message)
		}
		return nil
	})
}

// changeCache changes the spec of the cache, and retries on a conflict.
func (c *cacheBench) changeCache(ctx context.Context, change func(*v1alpha1.NginxCacheSpec)) error {
	for {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(c.cache), c.cache); err != nil {
			return err
		}
		change(&c.cache.Spec)
		err := c.client.Update(ctx, c.cache)
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}

// deletePod deletes a pod of the cache.
func (c *cacheBench) deletePod(ctx context.Context, name string) error {
	return client.IgnoreNotFound(c.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}))
}

// oneNode selects one of the nodes that pods are scheduled on.
func (b *bench) oneNode(ctx context.Context) (map[string]string, error) {
	nodes, err := b.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: "spec.unschedulable=false"})
	if err != nil {
		return nil, err
	}
	if len(nodes.Items) == 0 {
		return nil, errors.New("no node takes pods")
	}
	return map[string]string{corev1.LabelHostname: nodes.Items[len(nodes.Items)-1].Name}, nil
}
