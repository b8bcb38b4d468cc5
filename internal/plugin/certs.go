package plugin

import (
	"context"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newCerts(c *cluster) *cobra.Command {
	var all bool
	out := &output{}
	cmd := &cobra.Command{
		Use:   "certs [NAME]",
		Short: "List certificates, soonest expiry first",
		Long: "List the certificates of applications, soonest expiry first.\n\n" +
			"Issuers, names and addresses are those that a pod reports, and need the right to get pods/proxy. No Secret is read.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			applications, pods, err := readFleet(cmd.Context(), c, args, all)
			if err != nil {
				return err
			}
			measurer, err := c.pods()
			if err != nil {
				return err
			}
			var forbidden []string
			found, err := view.ReadCertificates(cmd.Context(), measurer, applications, pods)
			switch {
			case apierrors.IsForbidden(err):
				forbidden = append(forbidden, "pods/proxy")
			case err != nil:
				return err
			}
			names := make([]string, 0, len(found))
			for _, certificate := range found {
				names = append(names, certificate.Application+"/"+certificate.Name)
			}
			return out.write(cmd, found, names, func(p screen.Printer) error { return p.Certificates(found, forbidden) })
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the certificates of all namespaces")
	out.addFlag(cmd)
	return cmd
}

// readFleet reads one application, those of the namespace or all, with their pods.
func readFleet(ctx context.Context, c *cluster, args []string, all bool) ([]v1alpha2.NginxOperator, []corev1.Pod, error) {
	if len(args) == 1 {
		connected, nginx, err := c.application(ctx, args[0])
		if err != nil {
			return nil, nil, err
		}
		pods, err := view.ReadPods(ctx, connected, nginx)
		return []v1alpha2.NginxOperator{*nginx}, pods, err
	}
	applications, err := c.readApplications(ctx, all, "")
	if err != nil {
		return nil, nil, err
	}
	connected, namespace, err := c.connectTo(all)
	if err != nil {
		return nil, nil, err
	}
	pods, err := view.ReadPodsOfAll(ctx, connected, namespace, applications.Items)
	return applications.Items, pods, err
}
