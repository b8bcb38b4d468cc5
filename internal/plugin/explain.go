package plugin

import (
	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/explain"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newExplain(c *cluster) *cobra.Command {
	out := &output{}
	cmd := &cobra.Command{
		Use:   "explain NAME",
		Short: "Explain why an application is not ready, and what to do",
		Long: "Explain why an application is not ready: the chain of causes in plain words, and the commands to use next.\n\n" +
			"The exit code is 0 if the application is ready, and 2 if it is not.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			found, err := view.ReadReasons(cmd.Context(), connected, nginx)
			if err != nil {
				return err
			}
			explained := explain.Explain(found)
			if err := out.write(cmd, explained, []string{nameOf(nginx.Name)}, func(p screen.Printer) error { return p.Explain(explained) }); err != nil {
				return err
			}
			if !explained.Ready {
				return errShown
			}
			return nil
		},
	}
	out.addFlag(cmd)
	return cmd
}
