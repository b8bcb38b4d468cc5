package main

import (
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/internal/plugin/console/server"
)

const consoleLong = `Serve the console, which shows and changes applications in the browser.

Each viewer brings a token of the API server: in the header Authorization, as an authenticating
proxy adds it, or by the sign-in form of the page. The console uses no other credentials.`

// newConsole returns the command console.
func newConsole() *cobra.Command {
	options := server.Options{}
	cmd := &cobra.Command{
		Use:          "console",
		Short:        "Serve the console in the cluster",
		Long:         consoleLong,
		SilenceUsage: true,
		Args:         cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := setUpLogging(options.LogLevel); err != nil {
				return err
			}
			ctrl.Log.Info("starting", "version", version)
			return server.Run(ctrl.SetupSignalHandler(), options, ctrl.Log)
		},
	}
	options.AddFlags(cmd.Flags(), os.Getenv)
	return cmd
}
