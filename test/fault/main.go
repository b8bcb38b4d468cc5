// Command fault injects faults into an operator's requests. Its proxy stands between the operator
// and a real API server while it performs what users do. It verifies that each run ends in the same
// state as an undisturbed one.
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
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/yaml"

	"example.com/nginx-operator/test/fault/internal/impatient"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/subject"
	"example.com/nginx-operator/test/fault/internal/suite"
	"example.com/nginx-operator/test/hostile"
	"example.com/nginx-operator/test/internal/part"
	"example.com/nginx-operator/test/standin/container"
	"example.com/nginx-operator/test/standin/node"
	"example.com/nginx-operator/test/testenv"
)

// means matches the paths that show how a state was reached, which differs between runs: the
// annotations for requests to pods and for faster syncs of their volumes, and the managers of pods'
// fields; the generation and the intent for which an object was written; revision numbers, which
// count attempts; the messages and reasons of the Deployment controller, which remembers the last
// ReplicaSet that progressed and what it did then; what an autoscaler read within the last 15
// seconds; the size of an archive, which contains UIDs and times; how many backups a store had
// when it was listed; and the numbers of purges, which are times.
const means = `^Pod/[^.]*\.(metadata\.annotations\.operator\.example\.com/(config(-test|-grant)?|sync)|managers\..*)$` +
	`|\.metadata\.annotations\.operator\.example\.com/(generation|intent)$` +
	`|^Deployment/[^.]*\.status\.conditions\[\d+\]\.(message|reason)$` +
	`|^HorizontalPodAutoscaler/[^.]*\.status\.` +
	`|^ControllerRevision/[^.]*\.revision$|^NginxOperator/[^.]*\.status\.revision$|^NginxCache/[^.]*\.status\.(edge|shards)\.revision$` +
	`|^NginxBackup/[^.]*\.status\.(conditions\[0\]\.message|size|sizeBytes|digest|location|contents\.bytes)$` +
	`|^NginxCachePurge/[^.]*\.status\.(number|completionTime)$|^ConfigMap/[^.]*-purges\.data\.` +
	`|^NginxBackupPolicy/[^.]*\.status\.conditions\[1\]\.message$`

//go:embed fixture.yaml
var fixtureFile []byte

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
		Use: "fault", Short: "Test an operator under faults", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.remember(cmd.Flags())
			return run(cmd.Context(), cmd.OutOrStdout(), o)
		},
	}
	cmd.Flags().AddFlagSet(newFlags(&o))
	cmd.AddCommand(newMutationTestCommand())
	return cmd
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	journeys, err := o.loadJourneys()
	if err != nil {
		return err
	}
	selected, err := part.Parse(o.part)
	if err != nil {
		return fmt.Errorf("--part: %w", err)
	}
	object, err := readFixture(o.fixture)
	if err != nil {
		return err
	}
	images, remove, err := o.unpack()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return inEnvironment(ctx, o.keep, o.install, func(ctx context.Context, h *environment) error {
		return o.perform(ctx, h, images, func(ctx context.Context, stage *suite.Stage) error {
			return o.runSuite(ctx, out, &suite.Suite{
				Stage: stage, Fixture: object, Random: o.random, Parallel: o.parallel, Only: o.only, Each: o.each, Sample: o.sample, Part: selected,
				RealSample: o.realSample, Seed: o.seed, Silence: o.silence, Progress: progress,
			}, journeys)
		})
	})
}

// perform runs a function on a stage that has everything this project's operator needs.
func (o *options) perform(ctx context.Context, h *environment, images *node.Images, do func(context.Context, *suite.Stage) error) (err error) {
	stage, err := h.newStage(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	if err := o.equip(ctx, stage); err != nil {
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

// equip gives a stage the operator and everything that only this project's journeys need.
func (o *options) equip(ctx context.Context, stage *suite.Stage) (err error) {
	if stage.Means, err = regexp.Compile(o.means); err != nil {
		return fmt.Errorf("--means: %w", err)
	}
	stage.Program = subject.Program{Path: o.operator, Args: o.args}
	stage.Next = subject.Program{Path: o.next, Args: slices.Concat(o.args, o.nextArgs)}
	stage.Impatient = sync.OnceValues(func() (subject.Program, error) {
		path, err := impatient.Build(ctx, testenv.Root(), filepath.Join(stage.Dir, "impatient"))
		return subject.Program{Path: path, Args: o.args}, err
	})
	stage.Texts, err = texts()
	return err
}

// loadJourneys makes the operator's path absolute, and reads the journeys that can run.
func (o *options) loadJourneys() (all []*journey.Journey, err error) {
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
			progress("leaving out %s: --next is not set", j.Name)
		}
		return j.Upgrades()
	}), nil
}

// readFixture reads a fixture from a file. This project's own fixture also has the specs of the
// hostile resources.
func readFixture(file string) (s *suite.Fixture, err error) {
	s, text := &suite.Fixture{}, fixtureFile
	if file != "" {
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		return nil, fmt.Errorf("--fixture: %w", err)
	}
	if file == "" {
		s.Seeds, err = hostile.Bases("v1alpha2")
	}
	return s, err
}

// runSuite runs the suite and prints its results. It returns an error if a case failed.
func (o *options) runSuite(ctx context.Context, out io.Writer, c *suite.Suite, journeys []*journey.Journey) error {
	if o.budget > 0 {
		c.Until = time.Now().Add(o.budget)
	}
	start := time.Now()
	var report *suite.Report
	var err error
	if o.replay != "" {
		report, err = c.Replay(ctx, journeys, o.replay)
	} else {
		report, err = c.Run(ctx, journeys)
	}
	if report == nil {
		return err
	}
	// Print the results even if the run ended early.
	return errors.Join(o.print(out, report, time.Since(start)), err)
}
