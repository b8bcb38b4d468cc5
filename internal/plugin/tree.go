package plugin

import (
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newTree(c *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "tree NAME",
		Short: "Show the objects that belong to an application",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			tree, err := view.ReadTree(cmd.Context(), connected, nginx)
			if err != nil {
				return err
			}
			return screen.Tree(cmd.OutOrStdout(), tree, time.Now())
		},
	}
}
