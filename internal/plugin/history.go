package plugin

import (
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newHistory(c *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "history NAME",
		Short: "List the revisions of an application",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			revisions, err := view.ReadHistory(cmd.Context(), connected, nginx)
			if err != nil {
				return err
			}
			return screen.History(cmd.OutOrStdout(), revisions, nginx.Status.Revision, time.Now())
		},
	}
}
