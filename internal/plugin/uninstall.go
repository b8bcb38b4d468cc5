package plugin

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/manifests"
	"example.com/nginx-operator/internal/plugin/uninstall"
)

// uninstallTimeout is how long uninstall waits for objects to be gone. The data of a backup may take an hour.
const uninstallTimeout = 15 * time.Minute

func newUninstall(c *cluster) *cobra.Command {
	var choice uninstall.Choice
	var dryRun bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the operator; say what happens to the applications",
		Long: "Remove the operator that install or install.yaml installed.\n\n" +
			"Nothing is removed as long as there are applications, unless you say what happens to them. The API, backups and their\n" +
			"data stay unless you say otherwise. What is deleted with the operator's help is deleted first.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			connected, err := c.operatorClient()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return runUninstall(ctx, &uninstall.Uninstaller{Client: connected, Out: cmd.OutOrStdout(), DryRun: dryRun}, choice)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&choice.KeepApplications, "keep-applications", false, "leave NginxOperators and NginxCaches: nginx continues to serve, unmanaged")
	flags.BoolVar(&choice.DeleteApplications, "delete-applications", false, "delete NginxOperators and NginxCaches, with their pods and Services")
	flags.BoolVar(&choice.DeleteBackups, "delete-backups", false, "delete NginxBackups, policies and restores, and the data of backups whose deletionPolicy is Delete")
	flags.BoolVar(&choice.DeleteDefinitions, "delete-crds", false, "delete the CustomResourceDefinitions")
	flags.BoolVar(&dryRun, "dry-run", false, "have the API server check every deletion, and delete nothing")
	flags.DurationVar(&timeout, "timeout", uninstallTimeout, "how long to wait for objects to be gone")
	return cmd
}

func runUninstall(ctx context.Context, u *uninstall.Uninstaller, choice uninstall.Choice) error {
	present, err := u.Read(ctx)
	if err != nil {
		return err
	}
	installed, err := manifests.Render(manifests.Options{})
	if err != nil {
		return err
	}
	plan, err := uninstall.Decide(present, choice, installed)
	if err != nil {
		return err
	}
	return u.Run(ctx, plan)
}
