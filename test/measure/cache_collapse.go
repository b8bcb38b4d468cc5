package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/cache/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/cache/cacheconf"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load"
	"example.com/nginx-operator/test/load/incluster"
)

const (
	collapseShards  = 2
	collapseClients = 1000
	// collapseLine is repeated to the 10 MiB of the object.
	collapseLine, collapseLines = "0123456789abcde\n", 10 << 20 / 16
	// collapseTimeout bounds a request: 10 GiB pass two tiers of this machine.
	collapseTimeout = 5 * time.Minute
)

// collapseOrigin sends the object as fast as it can, and at a rate with which it takes three and ten seconds.
const collapseOrigin = `server {
    listen 8080;
    root /content;
    add_header Cache-Control max-age=86400;
    location = /fast { try_files /object =404; }
    location = /three-seconds { try_files /object =404; limit_rate 3500k; }
    location = /ten-seconds { try_files /object =404; limit_rate 1m; }
}
`

// measureCacheCollapse has many clients request a large object at once that is not stored.
func measureCacheCollapse(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	c, err := b.cacheBench(ctx, cacheShape{edges: cacheEdges, shards: collapseShards, storage: "256Mi", origin: collapseOriginSpec(b.newest())})
	if err != nil {
		return nil, err
	}
	o := &objectBench{cacheBench: c}
	var figures []figure.Figure
	for _, path := range []string{"fast", "three-seconds", "ten-seconds"} {
		s.progress("cache-collapse: /%s", path)
		found, err := o.collapse(ctx, path, s.count(collapseClients))
		figures = append(figures, found...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// collapseOriginSpec returns the spec of an application whose pods write the object before they start.
func collapseOriginSpec(image string) v1alpha2.NginxOperatorSpec {
	const volume, folder = "content", "/content"
	spec := originSpec(1, collapseOrigin)
	mounts := []v1alpha2.VolumeMount{{Name: volume, MountPath: folder}}
	spec.PodTemplate = &v1alpha2.PodTemplate{
		Volumes:      []v1alpha2.Volume{{Name: volume, EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		VolumeMounts: mounts,
		InitContainers: []v1alpha2.Container{{
			Name: "object", Image: image, VolumeMounts: mounts,
			Command: []string{"sh", "-c", fmt.Sprintf("yes %s | head -n %d > %s/object", strings.TrimSpace(collapseLine), collapseLines, folder)},
		}},
	}
	return spec
}

// collapse has clients request an object, each of them once.
func (o *objectBench) collapse(ctx context.Context, path string, clients int) ([]figure.Figure, error) {
	address, err := o.serviceAddress(ctx, v1alpha1.EdgeName(o.cache.Name), cacheconf.Port)
	if err != nil {
		return nil, err
	}
	before, err := o.originRequests(ctx)
	if err != nil {
		return nil, err
	}
	sum := crc32.ChecksumIEEE([]byte(strings.Repeat(collapseLine, collapseLines)))
	report, err := incluster.RunToEnd(ctx, o.kube, o.namespace, "load-"+path, o.loadImage, nil, load.Options{
		Targets: []string{address}, Timeout: collapseTimeout, Timeline: true,
		Clients: []load.Clients{{Count: clients, Requests: 1, Path: "/" + path, ExpectSum: fmt.Sprintf("%x", sum)}},
	})
	if err != nil {
		return nil, err
	}
	o.progress("cache-collapse: /%s: %s", path, report)
	if err := pause(ctx, logFlushed); err != nil {
		return nil, err
	}
	after, err := o.originRequests(ctx)
	name := fmt.Sprintf("%d clients request one object, of which the origin sends 10 MiB %s", clients, collapseSpeed[path])
	return []figure.Figure{
		figure.HasGoal(name+": requests that the origin counted", after-before, "requests", figure.AtMost(1)),
		figure.HasGoal(name+": failed", float64(report.Failed), "requests", figure.AtMost(0), tallies(report)...),
		figure.Info(name+": until the last client had it", report.Latency.Max, "s"),
	}, err
}

var collapseSpeed = map[string]string{"fast": "at once", "three-seconds": "in 3 s", "ten-seconds": "in 10 s"}
