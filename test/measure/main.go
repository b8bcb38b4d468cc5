// Command measure measures the operator's own cost and speed, and compares the figures with their
// goals.
//
// It exits with 1 when a figure falls short of its goal or a measurement failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/standin/container"
)

func main() {
	container.Become()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the settings of a run.
type options struct {
	// objects overrides the number of NginxOperators that a measurement creates; empty: use its
	// default. A measurement that takes several numbers uses all of them, any other the first.
	objects []int
	// window is how long the idle operator is watched.
	window time.Duration
	// patience bounds the wait for the cluster to get ready; it does not measure speed.
	patience time.Duration
	// cases are the names or families of the configurations to run; none: all. share is the
	// fraction of them to run. budget, if not 0, is the time after which no more are started.
	cases  []string
	share  float64
	budget time.Duration
}

func newCommand() *cobra.Command {
	var what []string
	var format string
	var o options
	command := &cobra.Command{
		Use:           "measure [--what name[,name]]",
		Short:         "Measure the operator and compare the figures with their goals",
		Long:          "Measure the operator and compare the figures with their goals.\n\nWithout --what: list the measurements.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if len(what) == 0 {
				return list(command.OutOrStdout())
			}
			chosen, err := choose(what)
			if err != nil {
				return err
			}
			if format != figure.Table && format != figure.JSON {
				return fmt.Errorf("there is no format %q: use %s or %s", format, figure.Table, figure.JSON)
			}
			figures, failed := newSession(o, command.ErrOrStderr()).run(command.Context(), chosen)
			if err := figure.Print(command.OutOrStdout(), format, figures); err != nil {
				return err
			}
			return errors.Join(failed, missed(figures))
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&what, "what", nil, "the measurements to take, comma-separated")
	flags.StringVarP(&format, "output", "o", figure.Table, "table or json")
	flags.IntSliceVar(&o.objects, "objects", nil, "number of objects to create, comma-separated for a measurement with several numbers (default: that of the measurement)")
	flags.DurationVar(&o.window, "window", time.Minute, "how long to observe the idle operator")
	flags.DurationVar(&o.patience, "patience", 15*time.Minute, "how long the cluster may take to become ready")
	flags.StringSliceVar(&o.cases, "cases", nil, "names or families of the hurtful configurations to run, comma-separated (default: all)")
	flags.Float64Var(&o.share, "share", 1, "share of the hurtful configurations to run, from 0 to 1")
	flags.DurationVar(&o.budget, "budget", 0, "start no hurtful configuration after this time (default: no limit)")
	return command
}

// missed returns an error if a figure falls short of its goal.
func missed(figures []figure.Figure) error {
	n := 0
	for _, f := range figures {
		if f.Short() {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%d of %d figures miss their goals", n, len(figures))
	}
	return nil
}
