package plugin

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/naming"
	"example.com/nginx-operator/internal/plugin/screen"
)

func newStatus(c *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "status NAME",
		Short: "Show one application on one screen: conditions, pods, certificates and events",
		Long: "Show one application on one screen: conditions, pods, certificates and events.\n\n" +
			"The exit code is 0 if the application is ready, and 2 if it is not.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			found, err := readStatus(cmd.Context(), connected, nginx)
			if err != nil {
				return err
			}
			if err := screen.Status(cmd.OutOrStdout(), *found, time.Now()); err != nil {
				return err
			}
			if !meta.IsStatusConditionTrue(found.Nginx.Status.Conditions, v1alpha2.ConditionReady) {
				return errShown
			}
			return nil
		},
	}
}

// readStatus reads what the screen shows. What the user may not read is left out, and named.
func readStatus(ctx context.Context, c client.Client, nginx *v1alpha2.NginxOperator) (*screen.Application, error) {
	a := &screen.Application{Nginx: *nginx, Zones: map[string]string{}}
	pods, events := &corev1.PodList{}, &eventsv1.EventList{}
	ofApplication := client.MatchingLabels(naming.SelectorLabels(nginx.Name))
	for _, part := range []struct {
		what string
		read func() error
	}{
		{"pods", func() error { return c.List(ctx, pods, client.InNamespace(nginx.Namespace), ofApplication) }},
		{"controllerrevisions.apps", func() (err error) { a.History, err = readHistory(ctx, c, nginx); return err }},
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
