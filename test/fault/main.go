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
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/subject"
	"example.com/nginx-operator/test/hostile"
	"example.com/nginx-operator/test/standin/container"
	"example.com/nginx-operator/test/standin/node"
)

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
