package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

// leastInterval is short enough for a look, and long enough for the pods.
const leastInterval = time.Second

func newTop(c *cluster) *cobra.Command {
	t := &top{cluster: c}
	cmd := &cobra.Command{
		Use:   "top [NAME]",
		Short: "Show live requests, errors, latency, connections and memory",
		Long: "Show live requests, errors, latency, connections and memory of applications, or of the pods and server blocks of one.\n\n" +
			"It asks each pod twice through the API server, and needs the right to get pods/proxy.",
		Example: "  kubectl nginx top -A --sort-by errors\n  kubectl nginx top web --sort-by latency -w",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.check(args); err != nil {
				return err
			}
			return t.watched.run(cmd, func(ctx context.Context) error { return t.once(ctx, cmd, args) })
		},
	}
	cmd.Flags().BoolVarP(&t.all, "all-namespaces", "A", false, "show the applications of all namespaces")
	cmd.Flags().StringVarP(&t.selector, "selector", "l", "", "show only applications with these labels, such as team=shop")
	cmd.Flags().DurationVar(&t.interval, "interval", 5*time.Second, "how long to measure")
	t.flags.addFlags(cmd, view.TopOrder[0].Name, view.TopOrder.Names())
	t.watched.addFlag(cmd)
	t.out.addFlag(cmd)
	return cmd
}

// top is the command top with its flags.
type top struct {
	cluster  *cluster
	all      bool
	selector string
	interval time.Duration
	flags    trafficFlags
	order    view.Key[view.Load]
	watched  watched
	out      output
}

// check refuses bad flags.
func (t *top) check(args []string) (err error) {
	switch {
	case t.interval < leastInterval:
		return fmt.Errorf("--interval is %s: set it to at least %s", t.interval, leastInterval)
	case len(args) == 1 && t.all:
		return errors.New("NAME and --all-namespaces exclude each other: use -n NAMESPACE")
	case len(args) == 1 && t.selector != "":
		return errors.New("NAME and --selector exclude each other: leave one of them out")
	}
	if t.order, err = view.TopOrder.Find(t.flags.sortBy); err != nil {
		return err
	}
	return t.flags.check()
}

// once looks for one interval.
func (t *top) once(ctx context.Context, cmd *cobra.Command, args []string) error {
	pods, leftOut, err := t.pods(ctx, args)
	if err != nil {
		return err
	}
	measurer, err := t.cluster.pods()
	if err != nil {
		return err
	}
	found, err := view.ReadTop(ctx, measurer, pods, t.interval)
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w\nkubectl nginx list and status work without this right", err)
	}
	if err != nil {
		return err
	}
	found.LeftOut, found.MostPods, found.Total = leftOut, t.flags.mostPods, len(found.Pods)
	if len(args) == 0 {
		found.Pods, found.Servers = nil, nil
		found.Applications = t.arrange(found.Applications)
		return t.out.write(cmd, found, namesOfApplications(found.Applications), func(p screen.Printer) error { return p.TopApplications(found, t.all) })
	}
	found.Applications, found.Pods, found.Servers = nil, t.arrange(found.Pods), t.arrange(found.Servers)
	return t.out.write(cmd, found, namesOfLoads(found.Pods), func(p screen.Printer) error { return p.TopPods(found) })
}

// arrange sorts loads, and leaves out those that the user does not ask for.
func (t *top) arrange(loads []view.Load) []view.Load {
	t.order.Sort(loads, view.LoadByName)
	return slices.DeleteFunc(loads, func(l view.Load) bool { return !t.flags.keeps(l.Requests, l.ErrorShare()) })
}

// pods returns the pods to measure, and how many applications are left out.
func (t *top) pods(ctx context.Context, args []string) (pods []corev1.Pod, leftOut int, err error) {
	if len(args) == 1 {
		connected, nginx, err := t.cluster.application(ctx, args[0])
		if err != nil {
			return nil, 0, err
		}
		pods, err = view.ReadPods(ctx, connected, nginx)
		return pods, 0, err
	}
	connected, namespace, err := t.cluster.connectTo(t.all)
	if err != nil {
		return nil, 0, err
	}
	if pods, err = view.ReadRunningPods(ctx, connected, namespace); err != nil {
		return nil, 0, err
	}
	if t.selector != "" {
		// Pods do not have the labels of their application.
		applications, err := t.cluster.readApplications(ctx, t.all, t.selector)
		if err != nil {
			return nil, 0, err
		}
		pods = view.OfApplications(pods, applications.Items)
	}
	pods, leftOut = view.BoundPods(view.ApplicationKeys(pods), pods, t.flags.mostPods)
	return pods, leftOut, nil
}

func namesOfLoads(loads []view.Load) []string {
	names := make([]string, 0, len(loads))
	for _, l := range loads {
		names = append(names, l.Name)
	}
	return names
}

// namesOfApplications returns the names of applications, as list prints them.
func namesOfApplications(loads []view.Load) []string {
	names := namesOfLoads(loads)
	for i := range names {
		names[i] = nameOf(names[i])
	}
	return names
}
