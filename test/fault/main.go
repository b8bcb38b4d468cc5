// Command fault puts an operator under faults: it stands between the operator and a real API
// server, plays what users do, and makes sure that the end is always the same.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/subject"
)

// options are the command's settings.
type options struct {
	operator string
	args     []string
	means    string
	journeys string
	replay   string
	only     []string
	sample   float64
	seed     uint64
	parallel int
	budget   time.Duration
	silence  time.Duration
	keep     string
}

// arguments are those of this project's operator.
var arguments = []string{
	"--namespaces={namespace}", "--controllers=nginx", "--leader-elect=false", "--conversion-webhook=false",
	"--metrics-bind-address=0", "--health-probe-bind-address=0", "--instance-image=nginx-operator:test", "--default-image=nginx:test",
	"--concurrency=2",
}

// means are the annotations by which pods are asked, and their managers; for which generation
// something was written; the numbers of the history, which count what was tried; and the words of
// the Deployment controller, who remembers the ReplicaSet that progressed last.
const means = `^Pod/[^.]*\.(metadata\.annotations\.operator\.example\.com/config(-test|-grant)?|managers\..*)$` +
	`|\.metadata\.annotations\.operator\.example\.com/generation$` +
	`|^Deployment/[^.]*\.status\.conditions\[\d+\]\.message$` +
	`|^ControllerRevision/[^.]*\.revision$|^NginxOperator/[^.]*\.status\.revision$`

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "fault", Short: "Put an operator under faults", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), cmd.OutOrStdout(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.operator, "operator", "bin/nginx-operator", "program of the operator; it finds its API server by KUBECONFIG")
	flags.StringSliceVar(&o.args, "arg", arguments, "its arguments; {namespace} stands for the namespace that it looks after")
	flags.StringVar(&o.means, "means", means, "regular expression of fields that tell how an end was reached, and are no part of it")
	flags.StringVar(&o.journeys, "journeys", "", "folder with what users do (default: what comes with this program)")
	flags.StringVar(&o.replay, "case", "", "play this case alone, by its name")
	flags.StringSliceVar(&o.only, "only", nil, "play the cases whose names begin so")
	flags.Float64Var(&o.sample, "sample", 1, "part of the cases that is played")
	flags.Uint64Var(&o.seed, "seed", 1, "what the part is drawn by")
	flags.IntVar(&o.parallel, "parallel", 12, "cases at a time")
	flags.DurationVar(&o.budget, "budget", 0, "after which time no further case is begun; 0: all are played")
	flags.DurationVar(&o.silence, "silence", time.Minute, "how long one operator looks after the ends of cases afterwards, without a write")
	flags.StringVar(&o.keep, "keep", "", "folder that keeps the logs of the operators")
	cmd.AddCommand(newSeeded())
	return cmd
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	journeys, err := read(o.journeys)
	if err != nil {
		return err
	}
	return inHouse(ctx, o.keep, func(ctx context.Context, h *house) error { return o.perform(ctx, out, h, journeys) })
}

func (o *options) perform(ctx context.Context, out io.Writer, h *house, journeys []*journey.Journey) (err error) {
	stage, err := h.stage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	program, err := filepath.Abs(o.operator)
	if err != nil {
		return err
	}
	if stage.Means, err = regexp.Compile(o.means); err != nil {
		return fmt.Errorf("--means: %w", err)
	}
	stage.Program = subject.Program{Path: program, Args: o.args}
	return o.play(ctx, out, &campaign.Campaign{
		Stage: stage, Parallel: o.parallel, Only: o.only, Sample: o.sample, Seed: o.seed, Silence: o.silence, Progress: progress,
	}, journeys)
}

func read(folder string) ([]*journey.Journey, error) {
	if folder == "" {
		return journey.All()
	}
	return journey.Read(os.DirFS(folder))
}

// play plays, prints what became of it, and fails if a case did.
func (o *options) play(ctx context.Context, out io.Writer, c *campaign.Campaign, journeys []*journey.Journey) error {
	if o.budget > 0 {
		c.Until = time.Now().Add(o.budget)
	}
	start := time.Now()
	var report *campaign.Report
	var err error
	if o.replay != "" {
		report, err = c.Replay(ctx, journeys, o.replay)
	} else {
		report, err = c.Run(ctx, journeys)
	}
	if err != nil {
		return err
	}
	return o.print(out, report, time.Since(start))
}

// print prints what became of a campaign, and fails if a case did.
func (o *options) print(out io.Writer, report *campaign.Report, took time.Duration) error {
	var text strings.Builder
	text.WriteString("| cases | possible | played | not reached | failed |\n|---|---|---|---|---|\n")
	for _, t := range report.Tallies {
		fmt.Fprintf(&text, "| %s | %d | %d | %d | %d |\n", t.Kind, t.Possible, t.Played, t.Missed, t.Failed)
	}
	fmt.Fprintf(&text, "\nseed %d, %s, %d not played for want of time\n", o.seed, took.Round(time.Second), report.Left)
	var failed []string
	if v := report.Vigil; v != nil {
		fmt.Fprintf(&text, "one operator looked after the ends of %d cases for %s: %d writes %v\n", v.Ends, v.Silence, len(v.Writes), v.Writes)
		if len(v.Writes) > 0 {
			failed = append(failed, "the vigil")
		}
	}
	for _, f := range report.Failures {
		fmt.Fprintf(&text, "\nFAILED %s\n%v\nreplay: make fault CASE='%s'\n", f.Case, f.Err, f.Case)
		failed = append(failed, f.Case)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d cases failed: %s", len(failed), strings.Join(failed, ", "))
	}
	return nil
}
