package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/load/site"
)

const (
	sidecarReplicas = 2
	sidecarRate     = 200
	sidecarRequests = 10_000
	sidecarAddress  = "127.0.0.1:8090"
)

// measureSidecar redeploys an application that passes every request to a container in the same pod,
// which ends immediately on SIGTERM.
func measureSidecar(ctx context.Context, s *session) ([]figure.Figure, error) {
	b, err := s.bench(ctx)
	if err != nil {
		return nil, err
	}
	t := &trafficBench{bench: b, site: site.Site{Backend: sidecarAddress}, rate: sidecarRate, backendOnly: true}
	declared := spec(sidecarReplicas, b.newest(), t.site.Files(t.revision()))
	declared.PodTemplate = &v1alpha2.PodTemplate{Containers: []v1alpha2.Container{{
		Name: "backend", Image: b.loadImage, Args: []string{"echo"}, Env: []corev1.EnvVar{{Name: "LISTEN", Value: sidecarAddress}},
	}}}
	if t.nginx, err = b.create(ctx, "web", declared); err != nil {
		return nil, err
	}
	row := trafficRow{name: "rolling restarts", times: 5, disturb: restartPods, fill: sidecarRequests}
	report, err := t.row(ctx, "load", row)
	figures := []figure.Figure{
		figure.HasGoal(t.version()+": requests to the container beside nginx", float64(report.Requests), "requests", figure.AtLeast(sidecarRequests)),
		figure.HasGoal(fmt.Sprintf("%s: failed of %d requests to the container beside nginx, in rolling restarts", t.version(), report.Requests),
			float64(report.Failed), "requests", figure.AtMost(0), tallies(report)...),
	}
	return figures, errors.Join(err, b.client.Delete(ctx, t.nginx))
}
