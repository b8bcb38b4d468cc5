package plugin

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newHistory(c *cluster) *cobra.Command {
	out := &output{}
	cmd := &cobra.Command{
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
			names := make([]string, 0, len(revisions))
			for _, r := range revisions {
				names = append(names, fmt.Sprint(r.Number))
			}
			return out.write(cmd, view.Revisions(revisions), names, func(p screen.Printer) error { return p.History(revisions, nginx.Status.Revision) })
		},
	}
	out.addFlag(cmd)
	return cmd
}
