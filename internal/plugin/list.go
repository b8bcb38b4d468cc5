package plugin

import (
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/screen"
)

func newList(c *cluster) *cobra.Command {
	var all bool
	var selector string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List applications, those with a problem first",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			connected, namespace, err := c.connect()
			if err != nil {
				return err
			}
			options := &client.ListOptions{}
			if !all {
				options.Namespace = namespace
			}
			if options.LabelSelector, err = parseSelector(selector); err != nil {
				return err
			}
			found := &v1alpha2.NginxOperatorList{}
			// The API server's cache answers a list without a version, so a large fleet costs it little.
			options.Raw = fromCache()
			if err := connected.List(cmd.Context(), found, options); err != nil {
				return err
			}
			return screen.List(cmd.OutOrStdout(), found.Items, all, time.Now())
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the applications of all namespaces")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "list only applications with these labels, such as team=shop")
	return cmd
}
