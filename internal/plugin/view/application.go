// Package view reads what the user sees of applications, with the user's own rights.
package view

import (
	"context"
	"fmt"
	"slices"
	"sync"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
)

// Application is an application with what belongs to it.
type Application struct {
	Nginx   v1alpha2.NginxOperator `json:"application"`
	Pods    []corev1.Pod           `json:"pods"`
	History history.History        `json:"-"`
	Events  []eventsv1.Event       `json:"events"`
	// Backups are the newest first.
	Backups []backupv1alpha1.NginxBackup `json:"backups,omitempty"`
	// Scalers change the number of pods.
	Scalers []autoscalingv2.HorizontalPodAutoscaler `json:"scalers,omitempty"`
	// Zones are the zones of nodes, by the names of the nodes.
	Zones map[string]string `json:"zones,omitempty"`
	// Traffic is that of the last minute, by the names of the pods. Pods that cannot be read are missing; Silent says why, if they
	// are ready.
	Traffic map[string]Traffic `json:"traffic,omitempty"`
	Silent  []string           `json:"silent,omitempty"`
	// Forbidden are the resources that the user may not read.
	Forbidden []string `json:"forbidden,omitempty"`
	// Lost is why the API server cannot be reached for the moment, so that all of this may be out of date.
	Lost error `json:"-"`
}

// ReadApplication reads an application with what belongs to it. What the user may not read is left out, and named.
func ReadApplication(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator, measurer Measurer) (*Application, error) {
	a := &Application{Nginx: *nginx}
	var pods []corev1.Pod
	events := &eventsv1.EventList{}
	err := a.read(ctx,
		part{"pods", func(ctx context.Context) (err error) { pods, err = ReadPods(ctx, c, nginx); return err }},
		part{"controllerrevisions.apps", func(ctx context.Context) (err error) { a.History, err = ReadHistory(ctx, c, nginx); return err }},
		part{"events.events.k8s.io", func(ctx context.Context) error {
			return c.List(ctx, events, client.InNamespace(nginx.Namespace), client.MatchingFields{"regarding.kind": v1alpha2.Kind, "regarding.name": nginx.Name})
		}},
	)
	if err != nil {
		return nil, err
	}
	a.Pods, a.Events, a.Zones = pods, events.Items, map[string]string{}
	return a, a.Complete(ctx, c, measurer, a.Zones)
}

// ReadReasons reads an application with what says why it is not ready.
func ReadReasons(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (*Application, error) {
	a := &Application{Nginx: *nginx}
	return a, a.read(ctx, part{"pods", func(ctx context.Context) (err error) { a.Pods, err = ReadPods(ctx, c, nginx); return err }})
}

// Complete adds what no watch reports: backups, scalers, the traffic, and the zones that are not known yet.
func (a *Application) Complete(ctx context.Context, c client.Client, measurer Measurer, zones map[string]string) error {
	return a.read(ctx,
		part{"pods/proxy", func(ctx context.Context) (err error) {
			a.Traffic, a.Silent, err = readTraffic(ctx, measurer, a.Pods)
			return err
		}},
		part{"nodes", func(ctx context.Context) error { return addZones(ctx, c, a.Pods, zones) }},
		part{"nginxbackups.backup.operator.example.com", func(ctx context.Context) (err error) {
			a.Backups, err = ReadBackups(ctx, c, a.Nginx.Namespace, a.Nginx.Name)
			if meta.IsNoMatchError(err) {
				return nil
			}
			return err
		}},
		part{"horizontalpodautoscalers.autoscaling", func(ctx context.Context) (err error) { a.Scalers, err = readScalers(ctx, c, &a.Nginx); return err }},
	)
}

// readScalers returns the autoscalers of an application.
func readScalers(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) ([]autoscalingv2.HorizontalPodAutoscaler, error) {
	found := &autoscalingv2.HorizontalPodAutoscalerList{}
	err := c.List(ctx, found, client.InNamespace(nginx.Namespace))
	return slices.DeleteFunc(found.Items, func(h autoscalingv2.HorizontalPodAutoscaler) bool {
		of := h.Spec.ScaleTargetRef
		return of.Kind != v1alpha2.Kind || of.Name != nginx.Name
	}), err
}

// part is something to read that the user may not be allowed to.
type part struct {
	resource string
	read     func(context.Context) error
}

// read reads parts at the same time.
func (a *Application) read(ctx context.Context, parts ...part) error {
	failures := make([]error, len(parts))
	var group sync.WaitGroup
	for i, p := range parts {
		group.Go(func() { failures[i] = p.read(ctx) })
	}
	group.Wait()
	for i, err := range failures {
		switch {
		case apierrors.IsForbidden(err):
			a.Forbidden = append(a.Forbidden, parts[i].resource)
		case err != nil:
			return fmt.Errorf("read %s: %w", parts[i].resource, err)
		}
	}
	return nil
}

// addZones adds the zones of nodes of pods that are not known yet, by the names of the nodes.
func addZones(ctx context.Context, c client.Client, pods []corev1.Pod, zones map[string]string) error {
	for i := range pods {
		name := pods[i].Spec.NodeName
		if _, known := zones[name]; known || name == "" {
			continue
		}
		node := &corev1.Node{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, node); client.IgnoreNotFound(err) != nil {
			return err
		}
		zones[name] = node.Labels[corev1.LabelTopologyZone]
	}
	return nil
}
