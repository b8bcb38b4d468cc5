package plugin

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/check"
	"example.com/nginx-operator/internal/plugin/screen"
)

func newCheck(c *cluster, version string) *cobra.Command {
	out := &output{}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether the operator can run on this cluster, and whether the installed one works",
		Long: "Check whether the operator can run on this cluster, and whether the installed one works. Nothing is changed.\n\n" +
			"The exit code is 0 if everything is in order, 2 if there are warnings only, and 1 if a check failed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			connected, err := c.operatorClient()
			if err != nil {
				return err
			}
			server, err := c.flags.ToDiscoveryClient()
			if err != nil {
				return err
			}
			found, err := check.Read(cmd.Context(), connected, server, version)
			if err != nil {
				return err
			}
			return showChecks(cmd, out, check.Evaluate(found))
		},
	}
	out.addFlag(cmd)
	return cmd
}

// showChecks shows results, and returns the error with the exit code of the worst.
func showChecks(cmd *cobra.Command, out *output, results []check.Result) error {
	var names []string
	for _, r := range results {
		names = append(names, string(r.State)+"/"+r.Name)
	}
	if err := out.write(cmd, results, names, func(p screen.Printer) error { return p.Checks(results) }); err != nil {
		return err
	}
	switch check.Worst(results) {
	case check.Failed:
		return errFailed
	case check.Warning:
		return errShown
	default:
		return nil
	}
}

// errFailed is a failed check, which the output shows.
var errFailed = fmt.Errorf("%w: a check failed", errQuiet)
