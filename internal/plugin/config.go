package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/plugin/local"
	"example.com/nginx-operator/internal/plugin/pods"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

// errRejected means that a configuration or a manifest would be refused. The output says why.
var errRejected = errors.New("refused")

func newConfig(c *cluster) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show, compare and test configurations",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigShow(c), newConfigDiff(c), newConfigTest(c))
	return cmd
}

func newConfigShow(c *cluster) *cobra.Command {
	out := &output{}
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the configuration that the pods serve",
		Long: "Show the configuration that the pods serve, once for the pods that serve the same. References to variables are not replaced, so " +
			"no value of a Secret is shown.\n\nIt forwards a port to each pod. Without the right to do so, it shows the configuration that new pods start with.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			application, err := c.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			found, err := application.served(cmd)
			if err != nil {
				return err
			}
			names := make([]string, 0, len(found))
			for _, config := range found {
				names = append(names, config.Revision)
			}
			return out.write(cmd, found, names, func(p screen.Printer) error {
				for _, config := range found {
					if err := p.Config(config); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	out.addFlag(cmd)
	return cmd
}

func newConfigDiff(c *cluster) *cobra.Command {
	var file, from string
	cmd := &cobra.Command{
		Use:   "diff NAME",
		Short: "Show how the requested configuration, or a local one, differs from the one that the pods serve",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			application, err := c.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			before, err := application.before(cmd, from)
			if err != nil {
				return err
			}
			to := func() (view.Config, error) {
				return view.ReadRequested(cmd.Context(), application.client, application.nginx)
			}
			if file != "" {
				to = func() (view.Config, error) { return local.Read(file, cmd.InOrStdin(), before[0].Files) }
			}
			after, err := to()
			if err != nil {
				return err
			}
			for _, config := range before {
				if err := printer(cmd).Diff(config, after); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "served", "what to compare with: served, stable or requested")
	addFileFlag(cmd, &file)
	return cmd
}

func newConfigTest(c *cluster) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "test NAME -f FILE",
		Short: "Test a local configuration with the nginx of the running pods, without making it live",
		Long: "Test a local configuration with the nginx of the running pods, without making it live. Checks and variables are those of the application.\n\n" +
			"The exit code is 0 if nginx accepts it, and 3 if nginx refuses it. A refusal that only a reload can find, such as another key of a zone of " +
			"shared memory, is not found; a real change would fail in the first pod and be rolled back there.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file == "" {
				return errors.New("--filename is missing: set it to a file or folder of the configuration, or to a manifest with one")
			}
			application, err := c.target(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			err = application.test(cmd, file)
			if apierrors.IsForbidden(err) {
				// The exit code of a refusal is that of nginx.
				return errors.New("the configuration is not tested: " + err.Error())
			}
			return err
		},
	}
	addFileFlag(cmd, &file)
	return cmd
}

func addFileFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "filename", "f", "", "a file, which takes the place of the one of this name; a folder, which is the whole configuration; "+
		"or a manifest of an NginxOperator or a ConfigMap (.yaml, .yml, - for the standard input)")
}

// target is an application whose pods can be queried.
type target struct {
	client client.Client
	nginx  *v1alpha2.NginxOperator
	pods   []corev1.Pod
	query  *pods.Client
}

// target reads an application and its pods.
func (c *cluster) target(ctx context.Context, name string) (*target, error) {
	connected, nginx, err := c.application(ctx, name)
	if err != nil {
		return nil, err
	}
	found, err := view.ReadPods(ctx, connected, nginx)
	if err != nil {
		return nil, err
	}
	query, err := c.pods()
	return &target{client: connected, nginx: nginx, pods: found, query: query}, err
}

// served returns the configurations that the pods serve, or the stable one if no pod can be queried, and prints why.
// Pods that do not answer are named.
func (a *target) served(cmd *cobra.Command) ([]view.Config, error) {
	found, failures := view.ReadServed(cmd.Context(), a.query, view.ReadyPods(a.pods))
	if err := cmd.Context().Err(); err != nil {
		return nil, err
	}
	if len(found) > 0 {
		for _, err := range failures {
			cmd.PrintErrf("not shown: %s\n", screen.Safe(err.Error()))
		}
		return found, nil
	}
	why := "no pod is ready"
	for _, err := range failures {
		why = err.Error()
		if apierrors.IsForbidden(err) {
			why = "you may not forward ports to pods (create pods/portforward)"
		}
	}
	cmd.PrintErrf("Showing the stable configuration instead of what each pod serves: %s.\n", screen.Safe(why))
	stable, err := view.ReadStable(cmd.Context(), a.client, a.nginx)
	return []view.Config{stable}, err
}

// before returns what is compared with.
func (a *target) before(cmd *cobra.Command, from string) ([]view.Config, error) {
	var found view.Config
	var err error
	switch from {
	case "served":
		return a.served(cmd)
	case "stable":
		found, err = view.ReadStable(cmd.Context(), a.client, a.nginx)
	case "requested":
		found, err = view.ReadRequested(cmd.Context(), a.client, a.nginx)
	default:
		err = fmt.Errorf("--from is %q: set it to served, stable or requested", from)
	}
	return []view.Config{found}, err
}

// test has a pod of each template test a configuration.
func (a *target) test(cmd *cobra.Command, file string) error {
	chosen := view.OneOfEachTemplate(a.pods)
	if len(chosen) == 0 {
		return fmt.Errorf("no pod of %s is ready to test a configuration: kubectl nginx explain %s -n %s: %w", a.nginx.Name, a.nginx.Name, a.nginx.Namespace, errNotReady)
	}
	served, failures := view.ReadServed(cmd.Context(), a.query, chosen[:1])
	if len(failures) > 0 {
		return failures[0]
	}
	config, err := local.Read(file, cmd.InOrStdin(), served[0].Files)
	if err != nil {
		return err
	}
	files := make(instanceapi.ConfigFiles, len(config.Files))
	for name, text := range config.Files {
		files[name] = []byte(text)
	}
	refused := false
	for i := range chosen {
		tested, err := a.query.TestConfig(cmd.Context(), client.ObjectKeyFromObject(&chosen[i]), files)
		if err != nil {
			return err
		}
		if err := printer(cmd).Tested(chosen[i].Name, tested); err != nil {
			return err
		}
		refused = refused || tested.Test != instanceapi.Passed
	}
	if refused {
		return errRejected
	}
	return nil
}
