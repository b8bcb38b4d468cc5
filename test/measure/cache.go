package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
)

// cacheEdges is the number of edges of a measured cache.
const cacheEdges = 2

// cacheOriginConfig answers each request with another text, so that an answer shows whether it was stored.
const cacheOriginConfig = "server { listen 8080; location / { return 200 \"$host $request_uri $request_id\\n\"; } }\n"

// cacheBench is a cache in front of an application.
type cacheBench struct {
	*bench
	cache *v1alpha1.NginxCache
	// host is the host of the requests, which the API server sends on.
	host string
}

// cacheBench creates a cache with volumes of the default class, and waits until it is ready.
func (s *session) cacheBench(ctx context.Context, shards int32, size string) (*cacheBench, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	origin, err := b.create(ctx, "origin", v1alpha2.NginxOperatorSpec{
		Replicas: new(int32(2)), Image: new(b.newest()), Config: config(map[string]string{"site.conf": cacheOriginConfig}),
		Ports: []v1alpha2.Port{{Name: "http", Port: 8080}},
	})
	if err != nil {
		return nil, err
	}
	cache := &v1alpha1.NginxCache{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "front"}}
	cache.Spec = v1alpha1.NginxCacheSpec{
		Image:   new(b.newest()),
		Origins: []v1alpha1.Origin{{Name: "app", Service: &v1alpha1.ServiceReference{Name: origin.Name, Port: 8080}}},
		Edge:    v1alpha1.Edge{Replicas: new(int32(cacheEdges))},
		Shards:  v1alpha1.Shards{Replicas: &shards, Storage: v1alpha1.Storage{Size: resource.MustParse(size)}},
	}
	if err := b.client.Create(ctx, cache); err != nil {
		return nil, err
	}
	c := &cacheBench{bench: b, cache: cache}
	if err := c.waitReady(ctx); err != nil {
		return nil, err
	}
	answer, err := c.get(ctx, 0, "/host")
	c.host, _, _ = strings.Cut(answer, " ")
	return c, err
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

// deletePod deletes a pod of the cache.
func (c *cacheBench) deletePod(ctx context.Context, name string) error {
	return client.IgnoreNotFound(c.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}))
}
