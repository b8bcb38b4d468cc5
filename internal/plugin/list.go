package plugin

import (
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/screen"
)

func newList(c *cluster) *cobra.Command {
	var all bool
	var selector string
	out := &output{}
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
			return out.write(cmd, found, namesOf(found.Items), func(p screen.Printer) error { return p.List(found.Items, all) })
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the applications of all namespaces")
	cmd.Flags().StringVarP(&selector, "selector", "l", "", "list only applications with these labels, such as team=shop")
	out.addFlag(cmd)
	return cmd
}

// namesOf returns the names of applications, as kubectl writes them.
func namesOf(applications []v1alpha2.NginxOperator) []string {
	names := make([]string, 0, len(applications))
	for i := range applications {
		names = append(names, nameOf(&applications[i]))
	}
	return names
}

func nameOf(nginx *v1alpha2.NginxOperator) string {
	return "nginxoperator." + v1alpha2.GroupVersion.Group + "/" + nginx.Name
}
