package plugin

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/report"
	"example.com/nginx-operator/internal/plugin/screen"
)

func newReport(c *cluster, version string) *cobra.Command {
	var all bool
	var file, operator string
	cmd := &cobra.Command{
		Use:   "report [NAME]",
		Short: "Write a redacted archive for support: objects, events, logs, configuration, metrics",
		Long: "Write a redacted archive for support: objects, conditions, events, logs, configuration and metrics of one application, or of all in the namespace, " +
			"and of the operator.\n\nNo Secret is read. Values of environment variables, and what looks like a secret elsewhere, are hidden. Review the archive before " +
			"you send it: nothing can know every secret.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := report.Options{Operator: operator, Version: version, Now: time.Now()}
			if len(args) == 1 {
				if _, _, err := c.application(cmd.Context(), args[0]); err != nil {
					return err
				}
				o.Name = args[0]
			}
			connected, namespace, err := c.connect()
			if err != nil {
				return err
			}
			if !all {
				o.Namespace = namespace
			}
			raw, err := c.raw()
			if err != nil {
				return err
			}
			measurer, err := c.pods()
			if err != nil {
				return err
			}
			collector := report.Collector{Client: connected, Raw: raw, Measurer: measurer, Progress: func(text string) { cmd.PrintErrf("reading %s\n", screen.Safe(text)) }}
			return writeReport(cmd, collector, o, file)
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "report the applications of all namespaces")
	cmd.Flags().StringVarP(&file, "filename", "f", "", "the archive to write; by default nginx-report-TIME.tar.gz")
	cmd.Flags().StringVar(&operator, "operator-namespace", "nginx-operator-system", "the namespace of the operator")
	return cmd
}

// writeReport writes a report to a new file that only the user can read.
func writeReport(cmd *cobra.Command, collector report.Collector, o report.Options, file string) (err error) {
	if file == "" {
		file = "nginx-report-" + o.Now.UTC().Format("060102-150405") + ".tar.gz"
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	missing, err := collector.Write(cmd.Context(), out, o)
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	for _, text := range missing {
		cmd.PrintErrf("not included: %s\n", screen.Safe(text))
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s written: review it before you send it\n", file)
	return err
}
