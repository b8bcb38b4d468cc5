package plugin

import (
	"context"
	"maps"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/view"
)

const (
	// agePause is how often the ages on the screen change, without a request.
	agePause = time.Second
	// settle is how long a change waits for others that come with it.
	settle = 100 * time.Millisecond
	// trafficPause is how often the pods are asked for their traffic.
	trafficPause = 10 * time.Second
)

// watchStatus shows an application again after each change, until the user interrupts it.
func watchStatus(cmd *cobra.Command, c *cluster, connected client.Client, nginx *v1alpha2.NginxOperator, show func(*view.Application) error) error {
	raw, err := c.raw()
	if err != nil {
		return err
	}
	measurer, err := c.pods()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	feed := view.Follow(ctx, raw, client.ObjectKeyFromObject(nginx))
	screen := newRedrawn(cmd)
	defer screen.restore()
	extras := newExtras(connected, measurer)
	for {
		a, err := feed.Application()
		if err != nil {
			return err
		}
		if a != nil {
			extras.add(ctx, a)
			if err := screen.draw(func() error { return show(a) }); err != nil {
				return err
			}
		}
		if !waitForChange(ctx, feed, a != nil && screen.terminal) {
			return nil
		}
	}
}

// waitForChange waits until there is something else to show: a change, or other ages. It returns false when the user
// interrupts it.
func waitForChange(ctx context.Context, feed *view.Feed, showsAges bool) bool {
	var ages <-chan time.Time
	if showsAges {
		ages = time.After(agePause)
	}
	select {
	case <-ctx.Done():
		return false
	case <-ages:
	case <-feed.Changed:
		select {
		case <-ctx.Done():
			return false
		case <-time.After(settle):
		}
	}
	return true
}

// extras are what no watch reports, with the time at which it was read.
type extras struct {
	client   client.Client
	measurer view.Measurer
	zones    map[string]string
	// read is what was read last.
	read view.Application
	// forbidden are the resources that the user may not read.
	forbidden []string
	readAt    time.Time
}

func newExtras(connected client.Client, measurer view.Measurer) *extras {
	return &extras{client: connected, measurer: measurer, zones: map[string]string{}}
}

// add adds to an application what no watch reports, and reads them again if they are old.
func (e *extras) add(ctx context.Context, a *view.Application) {
	if time.Since(e.readAt) >= trafficPause {
		e.readAt = time.Now()
		known := len(a.Forbidden)
		// What cannot be read for the moment stays as it was.
		if err := a.Complete(ctx, e.client, e.measurer, e.zones); err == nil {
			e.read, e.forbidden = *a, a.Forbidden[known:]
			a.Forbidden = a.Forbidden[:known]
		}
	}
	a.Zones, a.Traffic, a.Silent = maps.Clone(e.zones), e.read.Traffic, e.read.Silent
	a.Backups, a.Scalers = e.read.Backups, e.read.Scalers
	a.Forbidden = append(a.Forbidden, e.forbidden...)
}
