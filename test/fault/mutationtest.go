package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/test/fault/internal/bugs"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/subject"
	"example.com/nginx-operator/test/fault/internal/suite"
	"example.com/nginx-operator/test/testenv"
)

// mutationTest proves that the harness finds bugs: it seeds them into the operator, one at a time, and runs cases.
type mutationTest struct {
	only     []string
	cases    []string
	side     int
	parallel int
	timeout  time.Duration
	keep     string
	control  bool

	environment *environment
	journeys    []*journey.Journey
	dir         string
}

func newMutationTestCommand() *cobra.Command {
	var s mutationTest
	cmd := &cobra.Command{
		Use: "seeded", Short: "Seed bugs into the operator and report how many the cases find", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&s.only, "bug", nil, "seed only these bugs")
	flags.StringSliceVar(&s.cases, "cases", nil, "run these cases instead of those in the list of bugs")
	flags.IntVar(&s.side, "side", 3, "number of bugs to test at the same time")
	flags.IntVar(&s.parallel, "parallel", 3, "number of cases to run at the same time for each bug")
	flags.DurationVar(&s.timeout, "patience", 45*time.Second, "how long to wait for an expected state")
	flags.BoolVar(&s.control, "control", true, "first run the cases with the unchanged operator")
	flags.StringVar(&s.keep, "keep", "", "folder for the logs of the operators, which are kept")
	return cmd
}

// mutantRun is the run of the cases with one bug, and its result.
type mutantRun struct {
	bug     *bugs.Bug
	program string
	result  suite.FirstFailure
	took    time.Duration
	err     error
}

func (s *mutationTest) run(ctx context.Context, out io.Writer) (err error) {
	all, err := s.selected()
	if err != nil {
		return err
	}
	if s.journeys, err = journey.All(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "seeded-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	return inEnvironment(ctx, s.keep, (&options{}).install, func(ctx context.Context, h *environment) error {
		s.environment = h
		if s.control {
			if err := s.runBaseline(ctx, out, all); err != nil {
				return err
			}
		}
		runs := s.runAll(ctx, all)
		if err := ctx.Err(); err != nil {
			return err
		}
		return printMutationResults(out, runs)
	})
}

// selected returns the bugs to seed.
func (s *mutationTest) selected() ([]*bugs.Bug, error) {
	all, err := bugs.All()
	if err != nil || len(s.only) == 0 {
		return all, err
	}
	var some []*bugs.Bug
	for _, name := range s.only {
		i := slices.IndexFunc(all, func(b *bugs.Bug) bool { return b.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no bug %s", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// casesOf returns the cases that are run to find a bug.
func (s *mutationTest) casesOf(b *bugs.Bug) []string {
	if len(s.cases) > 0 {
		return s.cases
	}
	return b.Cases
}

// runBaseline runs all cases with the unchanged operator. A failure there would make every bug that is
// found meaningless.
func (s *mutationTest) runBaseline(ctx context.Context, out io.Writer, all []*bugs.Bug) error {
	if err := s.attackBaseline(ctx, all); err != nil {
		return err
	}
	var names []string
	for _, b := range all {
		for _, name := range s.casesOf(b) {
			if !b.InInstance() && !b.InUnit() && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	baseline := &mutantRun{bug: &bugs.Bug{Name: "good", Cases: names}, program: filepath.Join(s.dir, "good")}
	progress("the unchanged operator, in all cases of %d bugs", len(all))
	if err := bugs.BuildGood(ctx, testenv.Root(), baseline.program); err != nil {
		return err
	}
	if s.runMutant(ctx, baseline, s.side*s.parallel); baseline.err != nil {
		return baseline.err
	}
	if baseline.result.Err != nil {
		return fmt.Errorf("the unchanged operator fails, so a bug that is found proves nothing: %s: %w", baseline.result.Case, baseline.result.Err)
	}
	_, err := fmt.Fprintf(out, "The unchanged operator passed %d runs of the same cases, in %s.\n\n", baseline.result.Ran, baseline.took.Round(time.Second))
	return err
}

// runAll runs the cases of all bugs. It builds the next one while the others run.
func (s *mutationTest) runAll(ctx context.Context, all []*bugs.Bug) []*mutantRun {
	built := make(chan *mutantRun, 1)
	runs := make([]*mutantRun, len(all))
	for i, b := range all {
		runs[i] = &mutantRun{bug: b}
	}
	go func() {
		defer close(built)
		for _, t := range runs {
			if !t.bug.InUnit() {
				t.program, t.err = t.bug.Build(ctx, testenv.Root(), filepath.Join(s.dir, t.bug.Name))
			}
			built <- t
		}
	}()
	var group sync.WaitGroup
	for range s.side {
		group.Go(func() {
			for t := range built {
				s.runAndReport(ctx, t)
			}
		})
	}
	group.Wait()
	return runs
}

// runAndReport runs the cases of one bug, and reports the result at once.
func (s *mutationTest) runAndReport(ctx context.Context, t *mutantRun) {
	switch {
	case t.err != nil || ctx.Err() != nil:
	case t.bug.InInstance():
		t.attack(ctx)
	case t.bug.InUnit():
		t.unitTest(ctx, filepath.Join(s.dir, t.bug.Name))
	default:
		s.runMutant(ctx, t, s.parallel)
	}
	switch {
	case ctx.Err() != nil:
	case t.err != nil:
		progress("%s: %v", t.bug.Name, t.err)
	case t.result.Err == nil:
		progress("%s: NOT FOUND in %d runs, %s", t.bug.Name, t.result.Ran, t.took.Round(time.Second))
	default:
		progress("%s: found by %s in %s: %s", t.bug.Name, t.result.Case, t.took.Round(time.Second), firstLine(t.result.Err))
	}
}

// attackBaseline attacks the unchanged instance manager, if a bug is one of it.
func (s *mutationTest) attackBaseline(ctx context.Context, all []*bugs.Bug) error {
	if !slices.ContainsFunc(all, (*bugs.Bug).InInstance) {
		return nil
	}
	baseline := &mutantRun{program: filepath.Join(s.dir, "attack")}
	if err := bugs.BuildAttacker(ctx, testenv.Root(), baseline.program); err != nil {
		return err
	}
	if baseline.attack(ctx); baseline.err != nil || baseline.result.Err != nil {
		return fmt.Errorf("the unchanged instance manager: %s: %w", baseline.result.Case, cmp.Or(baseline.err, baseline.result.Err))
	}
	return nil
}

// errAccepted means that an instance has accepted what it must not.
var errAccepted = errors.New("the instance has accepted it")

// attack attacks the instance manager with a bug. One of the bug's attacks must succeed.
func (t *mutantRun) attack(ctx context.Context) {
	start := time.Now()
	var accepted []byte
	accepted, t.err = exec.CommandContext(ctx, t.program).Output()
	for name := range strings.FieldsSeq(string(accepted)) {
		if t.bug == nil || slices.Contains(t.bug.Cases, bugs.AttackKind+name) {
			t.result.Failure = suite.Failure{Case: bugs.AttackKind + name, Err: errAccepted}
			break
		}
	}
	t.took = time.Since(start)
}

// unitTest runs the tests of packages with a bug. One of them must fail.
func (t *mutantRun) unitTest(ctx context.Context, dir string) {
	start := time.Now()
	found, output, err := t.bug.Test(ctx, testenv.Root(), dir)
	if t.err = err; found != "" {
		t.result.Failure = suite.Failure{Case: found, Err: errors.New(failedTest(output))}
	}
	t.took = time.Since(start)
}

// failedTest returns the line of a test's output that names the first test that failed.
func failedTest(output []byte) string {
	for line := range strings.Lines(string(output)) {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "--- FAIL: ") {
			return strings.TrimPrefix(text, "--- FAIL: ")
		}
	}
	return "a test failed"
}

// runMutant runs the cases of a bug on its own stage.
func (s *mutationTest) runMutant(ctx context.Context, t *mutantRun, parallel int) {
	start := time.Now()
	stage, err := s.environment.newStage(ctx)
	if err != nil {
		t.err = err
		return
	}
	defer func() { t.err = errors.Join(t.err, stage.Forget(), stage.Close()) }()
	stage.Prefix, stage.Patience = t.bug.Name+"-case", s.timeout
	stage.Program, stage.Means = subject.Program{Path: t.program, Args: arguments}, regexp.MustCompile(means)
	t.err = s.environment.withJobs(ctx, stage, func(ctx context.Context) (err error) {
		c := &suite.Suite{Stage: stage, Parallel: parallel, Progress: progress}
		t.result, err = c.FindFailure(ctx, s.journeys, s.casesOf(t.bug))
		return err
	})
	t.took = time.Since(start)
}

// firstLine returns the first line of an error, shortened and escaped for a table.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	const most = 160
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most]) + " …"
	}
	return strings.ReplaceAll(line, "|", "\\|")
}

// printMutationResults prints the results of all runs, and returns an error if a bug was not found.
func printMutationResults(out io.Writer, runs []*mutantRun) error {
	var text strings.Builder
	text.WriteString("| bug | what a programmer got wrong | found by | failure | after |\n|---|---|---|---|---|\n")
	counts := map[detection]int{}
	var missed []string
	for _, t := range runs {
		counts[t.outcome()]++
		by, failure := "`"+t.result.Case+"`", t.result.Err
		if failure == nil {
			by, failure = "**not found**", cmp.Or(t.err, errNothing)
			missed = append(missed, t.bug.Name)
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", t.bug.Name, t.bug.About, by, firstLine(failure), t.took.Round(time.Second))
	}
	fmt.Fprintf(&text, "\n%d of %d seeded bugs found: %d by a fault, %d after a restart or a new list, %d undisturbed, %d by tests of packages\n",
		len(runs)-len(missed), len(runs), counts[byFault], counts[byRestart], counts[undisturbed], counts[byUnitTest])
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("not found: %s", strings.Join(missed, ", "))
	}
	return nil
}

// detection is what finds a bug.
type detection int

const (
	notFound detection = iota
	byFault
	byRestart
	undisturbed
	byUnitTest
)

// errNothing stands for the failure of a bug that was not found.
var errNothing = errors.New("nothing")

func (t *mutantRun) outcome() detection {
	switch {
	case t.result.Err == nil:
		return notFound
	case strings.HasPrefix(t.result.Case, bugs.UnitKind):
		return byUnitTest
	case !strings.HasPrefix(t.result.Case, suite.Undisturbed+"/"):
		return byFault
	case errors.Is(t.result.Err, suite.ErrWrites):
		return byRestart
	}
	return undisturbed
}
