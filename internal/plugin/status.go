package plugin

import (
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newStatus(c *cluster) *cobra.Command {
	out, again := &output{}, false
	cmd := &cobra.Command{
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
			show := func(a *view.Application) error {
				return out.write(cmd, a, []string{nameOf(nginx.Name)}, func(p screen.Printer) error { return p.Status(*a) })
			}
			if again {
				return watchStatus(cmd, c, connected, nginx, show)
			}
			measurer, err := c.pods()
			if err != nil {
				return err
			}
			found, err := view.ReadApplication(cmd.Context(), connected, nginx, measurer)
			if err != nil {
				return err
			}
			if err := show(found); err != nil {
				return err
			}
			if ready := view.Reported(&found.Nginx); ready == nil || ready.Status != metav1.ConditionTrue {
				return errShown
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&again, "watch", "w", false, "show it again after each change, until you interrupt it")
	out.addFlag(cmd)
	return cmd
}
