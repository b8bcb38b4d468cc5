// Package view reads what the user sees of applications, with the user's own rights.
package view

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/nginx/naming"
)

// Application is an application with what belongs to it.
type Application struct {
	Nginx   v1alpha2.NginxOperator `json:"application"`
	Pods    []corev1.Pod           `json:"pods"`
	History history.History        `json:"-"`
	Events  []eventsv1.Event       `json:"events"`
	// Zones are the zones of nodes, by the names of the nodes.
	Zones map[string]string `json:"zones,omitempty"`
	// Forbidden are the resources that the user may not read.
	Forbidden []string `json:"forbidden,omitempty"`
}

// ReadApplication reads an application with what belongs to it. What the user may not read is left out, and named.
func ReadApplication(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (*Application, error) {
	a := &Application{Nginx: *nginx, Zones: map[string]string{}}
	pods, events := &corev1.PodList{}, &eventsv1.EventList{}
	ofApplication := client.MatchingLabels(naming.SelectorLabels(nginx.Name))
	for _, part := range []struct {
		what string
		read func() error
	}{
		{"pods", func() error { return c.List(ctx, pods, client.InNamespace(nginx.Namespace), ofApplication) }},
		{"controllerrevisions.apps", func() (err error) { a.History, err = ReadHistory(ctx, c, nginx); return err }},
		{"events.events.k8s.io", func() error { return c.List(ctx, events, client.InNamespace(nginx.Namespace)) }},
		{"nodes", func() error { return readZones(ctx, c, pods.Items, a.Zones) }},
	} {
		switch err := part.read(); {
		case apierrors.IsForbidden(err):
			a.Forbidden = append(a.Forbidden, part.what)
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", part.what, err)
		}
	}
	a.Pods = pods.Items
	a.Events = slices.DeleteFunc(events.Items, func(e eventsv1.Event) bool {
		return e.Regarding.Kind != v1alpha2.Kind || e.Regarding.Name != nginx.Name
	})
	return a, nil
}

// readZones reads the zones of the nodes of pods.
func readZones(ctx context.Context, c client.Client, pods []corev1.Pod, zones map[string]string) error {
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
