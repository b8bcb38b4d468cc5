package plugin

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/console/fleet"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newList(c *cluster) *cobra.Command {
	l := &list{cluster: c}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List applications, those with a problem first",
		Long: "List applications, those with a problem first.\n\n" +
			"With --traffic, each pod is asked through the API server for its requests and errors of the last minute. That needs the right to get " +
			"pods/proxy. Sorting or filtering by traffic does the same.",
		Example: "  kubectl nginx list -A --state notReady,waiting\n  kubectl nginx list --sort-by errors --min-requests 1",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	cmd.Flags().BoolVarP(&l.all, "all-namespaces", "A", false, "list the applications of all namespaces")
	cmd.Flags().StringVarP(&l.selector, "selector", "l", "", "list only applications with these labels, such as team=shop")
	cmd.Flags().StringSliceVar(&l.states, "state", nil, fmt.Sprintf("list only applications in these states, of %v", view.States))
	cmd.Flags().BoolVar(&l.traffic, "traffic", false, "show the requests, errors and latency of the last minute")
	l.flags.addFlags(cmd, view.ListOrder[0].Name, view.ListOrder.Names())
	l.out.addFlag(cmd)
	return cmd
}

// list is the command list with its flags.
type list struct {
	cluster  *cluster
	all      bool
	selector string
	states   []string
	traffic  bool
	flags    trafficFlags
	out      output
}

func (l *list) run(cmd *cobra.Command) error {
	order, err := l.check()
	if err != nil {
		return err
	}
	applications, err := l.cluster.readApplications(cmd.Context(), l.all, l.selector)
	if err != nil {
		return err
	}
	found := l.inStates(applications.Items)
	view.ListOrder[0].Sort(found.Items, view.ListedByName)
	if l.traffic {
		if err := l.measure(cmd.Context(), &found); err != nil {
			return err
		}
	}
	order.Sort(found.Items, view.ListedByName)
	applications.Items = make([]v1alpha2.NginxOperator, 0, len(found.Items))
	for i := range found.Items {
		applications.Items = append(applications.Items, found.Items[i].Nginx)
	}
	var object any = applications
	if l.traffic {
		object = found
	}
	return l.out.write(cmd, object, namesOf(applications.Items), func(p screen.Printer) error { return p.List(found, l.all) })
}

// check refuses bad flags, and returns the order of the list. An order or a filter by traffic needs the traffic.
func (l *list) check() (view.Key[view.Listed], error) {
	order, err := view.ListOrder.Find(l.flags.sortBy)
	if err != nil {
		return order, err
	}
	for _, state := range l.states {
		if !slices.Contains(view.States, fleet.State(state)) {
			return order, fmt.Errorf("--state is %q: set it to some of %v", state, view.States)
		}
	}
	l.traffic = l.traffic || order.Traffic || l.flags.filters()
	return order, l.flags.check()
}

// inStates returns the applications in the states of --state.
func (l *list) inStates(applications []v1alpha2.NginxOperator) view.List {
	found := view.List{Items: make([]view.Listed, 0, len(applications)), Total: len(applications)}
	for i := range applications {
		if len(l.states) == 0 || slices.Contains(l.states, string(view.State(&applications[i]))) {
			found.Items = append(found.Items, view.Listed{Nginx: applications[i]})
		}
	}
	return found
}

// measure adds the traffic, and filters by it. Without the rights, all traffic is unknown, unless a filter needs it.
func (l *list) measure(ctx context.Context, found *view.List) error {
	found.Measured = true
	resource, err := l.readTraffic(ctx, found)
	switch {
	case apierrors.IsForbidden(err) && l.flags.filters():
		return fmt.Errorf("%w\nkubectl nginx list works without this right if it does not filter by traffic", err)
	case apierrors.IsForbidden(err):
		found.Forbidden = append(found.Forbidden, resource)
	case err != nil:
		return err
	}
	if l.flags.filters() {
		found.Items = slices.DeleteFunc(found.Items, func(a view.Listed) bool {
			return a.Traffic == nil || a.Traffic.Answering == 0 || !l.flags.keeps(a.Traffic.RequestsPerSecond, a.Traffic.ErrorShare)
		})
	}
	return nil
}

// readTraffic adds the traffic. An error comes with the resource that is read.
func (l *list) readTraffic(ctx context.Context, found *view.List) (resource string, err error) {
	connected, namespace, err := l.cluster.connectTo(l.all)
	if err != nil {
		return "", err
	}
	pods, err := view.ReadRunningPods(ctx, connected, namespace)
	if err != nil {
		return "pods", err
	}
	measurer, err := l.cluster.pods()
	if err != nil {
		return "", err
	}
	found.MostPods = l.flags.mostPods
	found.LeftOut, found.Silent, err = view.ReadListedTraffic(ctx, measurer, found.Items, pods, l.flags.mostPods)
	return "pods/proxy", err
}

// namesOf returns the names of applications, as kubectl writes them.
func namesOf(applications []v1alpha2.NginxOperator) []string {
	names := make([]string, 0, len(applications))
	for i := range applications {
		names = append(names, nameOf(applications[i].Name))
	}
	return names
}

// nameOf returns the name of an application, as kubectl writes it.
func nameOf(application string) string {
	return "nginxoperator." + v1alpha2.GroupVersion.Group + "/" + application
}
