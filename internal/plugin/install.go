package plugin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/install"
	"example.com/nginx-operator/internal/plugin/manifests"
)

// installTimeout is how long install --wait waits.
const installTimeout = 5 * time.Minute

// releaseImage is the operator's image of the release. It is set at build time.
var releaseImage string

type installFlags struct {
	manifests.Options
	output                         string
	dryRun, wait, force, downgrade bool
	timeout                        time.Duration
}

func newInstall(c *cluster, version string) *cobra.Command {
	f := installFlags{Options: manifests.Options{Version: version}}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install or upgrade the operator",
		Long: "Install the operator of this release for all namespaces, or upgrade the installed one.\n\n" +
			"Nothing is changed unless the API server accepts every object. Operators that Helm or the Operator Lifecycle Manager\n" +
			"installed are left alone.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInstall(cmd, c, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Image, "image", releaseImage, "the operator's image in a registry that the nodes can pull from")
	flags.StringSliceVar(&f.ImagePullSecrets, "image-pull-secrets", nil, "names of Secrets for the registries of the operator's image and those of applications, comma-separated")
	flags.StringVarP(&f.output, "output", "o", "", "yaml: print the manifests, and change nothing")
	flags.BoolVar(&f.dryRun, "dry-run", false, "have the API server check every object, and change none")
	flags.BoolVar(&f.wait, "wait", false, "wait until the operator is ready, and show the progress")
	flags.DurationVar(&f.timeout, "timeout", installTimeout, "how long --wait waits")
	flags.BoolVar(&f.force, "force-conflicts", false, "take over fields that another client has set")
	flags.BoolVar(&f.downgrade, "allow-downgrade", false, "install over a newer release, whose objects may lose fields")
	return cmd
}

func runInstall(cmd *cobra.Command, c *cluster, f *installFlags) error {
	if err := install.CheckImage(f.Image, f.Version); err != nil {
		return err
	}
	objects, err := manifests.Render(f.Options)
	if err != nil {
		return err
	}
	switch f.output {
	case "":
	case "yaml":
		text, err := install.Render(objects)
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		return err
	default:
		return fmt.Errorf("--output is %q: set it to yaml, or leave it out", f.output)
	}
	connected, err := c.operatorClient()
	if err != nil {
		return err
	}
	i := &install.Installer{Client: connected, Out: cmd.OutOrStdout(), Version: f.Version, DryRun: f.dryRun, ForceConflicts: f.force, AllowDowngrade: f.downgrade}
	if err := i.Apply(cmd.Context(), objects); err != nil || f.dryRun {
		return err
	}
	if f.wait {
		ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
		defer cancel()
		if err := i.Wait(ctx); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Release %s is installed. Next: kubectl nginx check\n", f.Version)
	return err
}
