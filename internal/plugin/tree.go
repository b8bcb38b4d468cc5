package plugin

import (
	"strings"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newTree(c *cluster) *cobra.Command {
	out := &output{}
	cmd := &cobra.Command{
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
			names := make([]string, 0, len(tree.Objects))
			for i := range tree.Objects {
				names = append(names, strings.ToLower(tree.Objects[i].GetKind())+"/"+tree.Objects[i].GetName())
			}
			return out.write(cmd, tree, names, func(p screen.Printer) error { return p.Tree(tree) })
		},
	}
	out.addFlag(cmd)
	return cmd
}
