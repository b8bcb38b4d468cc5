package migration

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
)

const long = `Bring every stored NginxOperator into the API's storage version.

Run it once after an upgrade that changed the storage version, with the kubeconfig of an
administrator, or as the Job of config/migration. It can be interrupted at any point and
run again. What runs is not touched: no object changes, only how it is stored.`

// NewCommand returns the command `migrate-storage`.
func NewCommand() *cobra.Command {
	options := DefaultOptions()
	method := string(options.Method)
	cmd := &cobra.Command{
		Use:          "migrate-storage",
		Short:        "Store every NginxOperator in the newest version of the API",
		Long:         long,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctrl.SetLogger(logr.Discard())
			options.Method = Method(method)
			config, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find the cluster: %w", err)
			}
			m, err := New(config, options, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return m.Run(ctrl.SetupSignalHandler())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&method, "method", method,
		"what rewrites the objects: in-tree (Kubernetes, by a StorageVersionMigration), rewrite (this command) or auto (Kubernetes if it can)")
	flags.BoolVar(&options.DryRun, "dry-run", options.DryRun, "try every write as a dry run and change nothing")
	flags.BoolVar(&options.Force, "force", options.Force, "rewrite every object even if the CRD reports no older version")
	flags.Int64Var(&options.PageSize, "page-size", options.PageSize, "number of objects to list at a time")
	flags.IntVar(&options.Concurrency, "concurrency", options.Concurrency, "number of objects to write at the same time")
	flags.DurationVar(&options.StartTimeout, "start-timeout", options.StartTimeout, "how long Kubernetes may take to start a StorageVersionMigration")
	return cmd
}
