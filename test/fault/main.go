// Command fault puts an operator under faults: it stands between the operator and a real API
// server, plays what users do, and makes sure that the end is always the same.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/subject"
	"example.com/nginx-operator/test/hostile"
	"example.com/nginx-operator/test/standin/container"
	"example.com/nginx-operator/test/standin/node"
)

// options are the command's settings.
type options struct {
	operator string
	args     []string
	next     string
	nextArgs []string
	webhook  []string
	means    string
	journeys string
	specimen string
	replay   string
	only     []string
	sample   float64
	part     string
	seed     uint64
	parallel int
	random   int
	budget   time.Duration
	silence  time.Duration
	keep     string

	images       string
	instance     string
	realSample   float64
	realParallel int

	// given are the flags with which something is played again.
	given []given
}

// arguments are those of this project's operator.
var arguments = []string{
	"--namespaces={namespace}", "--controllers=nginx", "--leader-elect=false", "--conversion-webhook=false",
	"--metrics-bind-address=0", "--health-probe-bind-address=0", "--instance-image=nginx-operator:test", "--default-image=nginx:test",
}

// means are the annotations by which pods are asked and nudged, and their managers; for which generation
// and from which intent something was written; the numbers of the history, which count what was tried; the
// words of the Deployment controller, who remembers the ReplicaSet that progressed last, and what it did
// then; what an autoscaler saw when it looked last, some time in a quarter of a minute; how large an
// archive is, which holds UIDs and times; and how many there were when a store was listed.
const means = `^Pod/[^.]*\.(metadata\.annotations\.operator\.example\.com/(config(-test|-grant)?|sync)|managers\..*)$` +
	`|\.metadata\.annotations\.operator\.example\.com/(generation|intent)$` +
	`|^Deployment/[^.]*\.status\.conditions\[\d+\]\.(message|reason)$` +
	`|^HorizontalPodAutoscaler/[^.]*\.status\.` +
	`|^ControllerRevision/[^.]*\.revision$|^NginxOperator/[^.]*\.status\.revision$` +
	`|^NginxBackup/[^.]*\.status\.(conditions\[0\]\.message|size|sizeBytes|digest|location|contents\.bytes)$` +
	`|^NginxBackupPolicy/[^.]*\.status\.conditions\[1\]\.message$`

//go:embed specimen.yaml
var specimen []byte

func main() {
	ctrl.SetLogger(logr.Discard())
	container.Become()
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.remember(cmd.Flags())
			return run(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().AddFlagSet(newFlags(&o))
	cmd.AddCommand(newSeeded())
	return cmd
}

func newFlags(o *options) *pflag.FlagSet {
	flags := pflag.NewFlagSet("fault", pflag.ContinueOnError)
	flags.StringVar(&o.operator, "operator", "bin/nginx-operator", "program of the operator; it finds its API server by KUBECONFIG")
	flags.StringSliceVar(&o.args, "arg", arguments, "its arguments; {namespace} stands for the namespace that it looks after")
	flags.StringVar(&o.next, "next", "", "program of the release to which journeys upgrade; without it, those that do are left out")
	flags.StringSliceVar(&o.nextArgs, "next-arg", []string{"--instance-image=nginx-operator:next", "--default-image=nginx:next"}, "its arguments, after those of --arg")
	flags.StringSliceVar(&o.webhook, "webhook-arg", webhookArguments,
		"arguments with which the operator's program serves the conversion all the while, at {port}; empty: the newest version is served alone")
	flags.StringVar(&o.means, "means", means, "regular expression of fields that tell how an end was reached, and are no part of it")
	flags.StringVar(&o.journeys, "journeys", "", "folder with what users do (default: what comes with this program)")
	flags.StringVar(&o.specimen, "specimen", "", "file with an object whose fields are changed (default: what comes with this program)")
	flags.StringVar(&o.replay, "case", "", "play this case alone, by its name")
	flags.StringSliceVar(&o.only, "only", nil, "play the cases whose names begin so")
	flags.Float64Var(&o.sample, "sample", 1, "part of the cases that is played")
	flags.StringVar(&o.part, "part", "", "play one of several parts of the cases, such as 3/10: runs on other days or machines play the others")
	flags.Uint64Var(&o.seed, "seed", 1, "what the part is drawn by")
	flags.IntVar(&o.random, "random", 10000, "how many random cases there are")
	flags.IntVar(&o.parallel, "parallel", 12, "cases at a time")
	flags.DurationVar(&o.budget, "budget", 0, "after which time no further case is begun; 0: all are played")
	flags.DurationVar(&o.silence, "silence", time.Minute, "how long one operator looks after the ends of cases afterwards, without a write")
	flags.StringVar(&o.images, "images", "", "folder with the archives of nginx images, for cases with real instances, as root; empty: there are none")
	flags.StringVar(&o.instance, "instance", "bin/nginx-instance", "program of the instance manager")
	flags.Float64Var(&o.realSample, "real-sample", 1, "part of the cases with real instances that is played")
	flags.IntVar(&o.realParallel, "real-parallel", 3, "cases with real instances at a time")
	flags.StringVar(&o.keep, "keep", "", "folder that keeps the logs of the operators")
	return flags
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	journeys, err := o.prepare()
	if err != nil {
		return err
	}
	part, err := campaign.ParsePart(o.part)
	if err != nil {
		return fmt.Errorf("--part: %w", err)
	}
	object, err := readSpecimen(o.specimen)
	if err != nil {
		return err
	}
	images, remove, err := o.unpack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return inHouse(ctx, o.keep, o.install, func(ctx context.Context, h *house) error {
		return o.perform(ctx, h, images, func(ctx context.Context, stage *campaign.Stage) error {
			return o.play(ctx, out, &campaign.Campaign{
				Stage: stage, Specimen: object, Random: o.random, Parallel: o.parallel, Only: o.only, Sample: o.sample, Part: part,
				RealSample: o.realSample, Seed: o.seed, Silence: o.silence, Progress: progress,
			}, journeys)
		})
	})
}

// perform does something on a stage with everything that this project's operator needs.
func (o *options) perform(ctx context.Context, h *house, images *node.Images, do func(context.Context, *campaign.Stage) error) (err error) {
	stage, err := h.stage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	if err := o.equip(stage); err != nil {
		return err
	}
	return h.withJobs(ctx, stage, func(ctx context.Context) (err error) {
		working, stop := context.WithCancel(ctx)
		defer stop()
		pods, err := o.real(working, h.plane, stage, images)
		if err != nil {
			return err
		}
		defer func() {
			stop()
			err = errors.Join(err, pods())
		}()
		return do(ctx, stage)
	})
}

// equip gives a stage the operator, and what only this project's journeys need.
func (o *options) equip(stage *campaign.Stage) (err error) {
	if stage.Means, err = regexp.Compile(o.means); err != nil {
		return fmt.Errorf("--means: %w", err)
	}
	stage.Program = subject.Program{Path: o.operator, Args: o.args}
	stage.Next = subject.Program{Path: o.next, Args: slices.Concat(o.args, o.nextArgs)}
	stage.Texts, err = texts()
	return err
}

// prepare finds the program, and reads the journeys that can be played.
func (o *options) prepare() (all []*journey.Journey, err error) {
	if o.operator, err = filepath.Abs(o.operator); err != nil {
		return nil, err
	}
	if o.journeys == "" {
		all, err = journey.All()
	} else {
		all, err = journey.Read(os.DirFS(o.journeys))
	}
	if err != nil || o.next != "" {
		return all, err
	}
	return slices.DeleteFunc(all, func(j *journey.Journey) bool {
		if j.Upgrades() {
			progress("%s is left out: there is no --next", j.Name)
		}
		return j.Upgrades()
	}), nil
}

// readSpecimen reads a file. That of this project has the specs of the hostile resources.
func readSpecimen(file string) (s *campaign.Specimen, err error) {
	s, text := &campaign.Specimen{}, specimen
	if file != "" {
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		return nil, fmt.Errorf("--specimen: %w", err)
	}
	if file == "" {
		s.Seeds, err = hostile.Bases("v1alpha2")
	}
	return s, err
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
	if report == nil {
		return err
	}
	// What was found counts, whatever ended it.
	return errors.Join(o.print(out, report, time.Since(start)), err)
}

// ofRuns are the flags that tell which cases are played, and how: those of the other ones tell what is put under faults.
var ofRuns = []string{"only", "sample", "part", "seed", "parallel", "budget", "silence", "real-sample", "real-parallel"}

// remember keeps the flags that are needed to play something again: those that were given, without those by which
// make tells where things are.
func (o *options) remember(flags *pflag.FlagSet) {
	flags.Visit(func(f *pflag.Flag) {
		place, ok := map[string]string{"operator": "bin/nginx-operator", "next": "bin/next/nginx-operator", "instance": "bin/nginx-instance"}[f.Name]
		if ok && strings.HasSuffix(f.Value.String(), place) || slices.Contains([]string{"case", "keep", "images"}, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			o.given = append(o.given, given{f.Name, fmt.Sprintf("--%s=%s", f.Name, value)})
		}
	})
}

// given is a flag, and how it was given.
type given struct{ name, text string }

// again is the arguments of make that play once more what failed: a case; what the operator of all cases of a kind did, which is
// no single case; or all, where that is empty.
func (o *options) again(failed string) string {
	flags := []string{}
	single := strings.Contains(failed, "/")
	if failed != "" && !single {
		flags = append(flags, "--only="+failed+"/")
	}
	for _, g := range o.given {
		if of := slices.Contains(ofRuns, g.name); of && single || g.name == "only" && failed != "" {
			continue
		}
		flags = append(flags, g.text)
	}
	var words []string
	if o.images == "" {
		words = append(words, "NGINX=")
	}
	if single {
		words = append(words, fmt.Sprintf("CASE='%s'", failed))
	}
	if len(flags) > 0 {
		words = append(words, fmt.Sprintf("FAULT='%s'", strings.Join(flags, " ")))
	}
	return strings.Join(words, " ")
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
	if tried, changed, of := report.Coverage(); of > 0 {
		fmt.Fprintf(&text, "%d of %d fields of the schema were to be changed, and %d were\n", tried, of, changed)
	}
	if v := report.Vigil; v != nil {
		fmt.Fprintf(&text, "the ends of %d cases were looked after for %s: %d writes %v\n", v.Ends, v.Silence, len(v.Writes), v.Writes)
		if len(v.Writes) > 0 {
			fmt.Fprintf(&text, "\nFAILED the vigil\nreplay: make fault %s\n", o.again(""))
			failed = append(failed, "the vigil")
		}
	}
	for _, f := range report.Failures {
		fmt.Fprintf(&text, "\nFAILED %s\n%v\nreplay: make fault %s\n", f.Case, f.Err, o.again(f.Case))
		failed = append(failed, f.Case)
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	played := slices.ContainsFunc(report.Tallies, func(t *campaign.Tally) bool { return t.Played > 0 })
	switch {
	case len(failed) > 0:
		return fmt.Errorf("%d cases failed: %s", len(failed), strings.Join(failed, ", "))
	case !played:
		return errors.New("no case was played: there is none of the name or the beginning, none was drawn, or the time was over")
	}
	return nil
}
