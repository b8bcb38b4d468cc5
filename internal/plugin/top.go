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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
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
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if t.interval < leastInterval {
				return fmt.Errorf("--interval is %s: set it to at least %s", t.interval, leastInterval)
			}
			return t.watched.run(cmd, func(ctx context.Context) error { return t.once(ctx, cmd, args) })
		},
	}
	cmd.Flags().BoolVarP(&t.all, "all-namespaces", "A", false, "show the applications of all namespaces")
	cmd.Flags().DurationVar(&t.interval, "interval", 5*time.Second, "how long to measure")
	t.watched.addFlag(cmd)
	t.out.addFlag(cmd)
	return cmd
}

// top is the command top with its flags.
type top struct {
	cluster  *cluster
	all      bool
	interval time.Duration
	watched  watched
	out      output
}

// once looks for one interval.
func (t *top) once(ctx context.Context, cmd *cobra.Command, args []string) error {
	pods, err := t.pods(ctx, args)
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
	if len(args) == 0 {
		found.Pods, found.Servers = nil, nil
		return t.out.write(cmd, found, namesOfLoads(found.Applications), func(p screen.Printer) error { return p.TopApplications(found.Applications, t.all) })
	}
	found.Applications = nil
	return t.out.write(cmd, found, namesOfLoads(found.Pods), func(p screen.Printer) error { return p.TopPods(found) })
}

// pods returns the pods to measure.
func (t *top) pods(ctx context.Context, args []string) ([]corev1.Pod, error) {
	if len(args) == 1 {
		if t.all {
			return nil, errors.New("NAME and --all-namespaces exclude each other: use -n NAMESPACE")
		}
		connected, nginx, err := t.cluster.application(ctx, args[0])
		if err != nil {
			return nil, err
		}
		return view.ReadPods(ctx, connected, nginx)
	}
	connected, namespace, err := t.cluster.connect()
	if err != nil {
		return nil, err
	}
	options := []client.ListOption{client.HasLabels{v1alpha2.LabelNginxOperator}}
	if !t.all {
		options = append(options, client.InNamespace(namespace))
	}
	found := &corev1.PodList{}
	err = connected.List(ctx, found, options...)
	return slices.DeleteFunc(found.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning }), err
}

func namesOfLoads(loads []view.Load) []string {
	names := make([]string, 0, len(loads))
	for _, l := range loads {
		names = append(names, l.Name)
	}
	return names
}
