package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// seeded proves that the harness finds bugs: it seeds them into the operator and hunts for them.
type seeded struct {
	only     []string
	cases    []string
	side     int
	parallel int
	patience time.Duration
	keep     string
	control  bool

	environment *environment
	journeys    []*journey.Journey
	dir         string
}

func newMutationTestCommand() *cobra.Command {
	var s seeded
	cmd := &cobra.Command{
		Use: "seeded", Short: "Seed bugs into the operator and report how many the cases find", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&s.only, "bug", nil, "seed only these bugs")
	flags.StringSliceVar(&s.cases, "cases", nil, "play these cases instead of those in the list of bugs")
	flags.IntVar(&s.side, "side", 3, "number of bugs to look for at the same time")
	flags.IntVar(&s.parallel, "parallel", 3, "number of cases to play at the same time for each bug")
	flags.DurationVar(&s.patience, "patience", 45*time.Second, "how long to wait for an expected state")
	flags.BoolVar(&s.control, "control", true, "first play the cases with the unchanged operator")
	flags.StringVar(&s.keep, "keep", "", "folder for the logs of the operators, which are kept")
	return cmd
}

// trial is the hunt for one bug, with its result.
type trial struct {
	bug     *bugs.Bug
	program string
	catch   suite.Catch
	took    time.Duration
	err     error
}

func (s *seeded) run(ctx context.Context, out io.Writer) (err error) {
	all, err := s.chosen()
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
		trials := s.hunt(ctx, all)
		if err := ctx.Err(); err != nil {
			return err
		}
		return printMutationResults(out, trials)
	})
}

// chosen returns the bugs to hunt for.
func (s *seeded) chosen() ([]*bugs.Bug, error) {
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

// casesOf returns the cases that are played to find a bug.
func (s *seeded) casesOf(b *bugs.Bug) []string {
	if len(s.cases) > 0 {
		return s.cases
	}
	return b.Cases
}

// runBaseline plays all cases with the unchanged operator. A failure there would make every bug that is
// found meaningless.
func (s *seeded) runBaseline(ctx context.Context, out io.Writer, all []*bugs.Bug) error {
	var names []string
	for _, b := range all {
		for _, name := range s.casesOf(b) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	good := &trial{bug: &bugs.Bug{Name: "good", Cases: names}, program: filepath.Join(s.dir, "good")}
	progress("the unchanged operator, in all cases of %d bugs", len(all))
	if err := bugs.BuildGood(ctx, testenv.Root(), good.program); err != nil {
		return err
	}
	if s.runMutant(ctx, good, s.side*s.parallel); good.err != nil {
		return good.err
	}
	if good.catch.Err != nil {
		return fmt.Errorf("the unchanged operator fails, so a bug that is found proves nothing: %s: %w", good.catch.Case, good.catch.Err)
	}
	_, err := fmt.Fprintf(out, "The unchanged operator passed %d plays of the same cases, in %s.\n\n", good.catch.Ran, good.took.Round(time.Second))
	return err
}

// hunt hunts for all bugs. It builds the next one while it plays the others.
func (s *seeded) hunt(ctx context.Context, all []*bugs.Bug) []*trial {
	built := make(chan *trial, 1)
	trials := make([]*trial, len(all))
	for i, b := range all {
		trials[i] = &trial{bug: b}
	}
	go func() {
		defer close(built)
		for _, t := range trials {
			t.program, t.err = t.bug.Build(ctx, testenv.Root(), filepath.Join(s.dir, t.bug.Name))
			built <- t
		}
	}()
	var group sync.WaitGroup
	for range s.side {
		group.Go(func() {
			for t := range built {
				s.look(ctx, t)
			}
		})
	}
	group.Wait()
	return trials
}

// look hunts for one bug, and reports the result at once.
func (s *seeded) look(ctx context.Context, t *trial) {
	if t.err == nil && ctx.Err() == nil {
		s.runMutant(ctx, t, s.parallel)
	}
	switch {
	case ctx.Err() != nil:
	case t.err != nil:
		progress("%s: %v", t.bug.Name, t.err)
	case t.catch.Err == nil:
		progress("%s: NOT FOUND in %d plays, %s", t.bug.Name, t.catch.Ran, t.took.Round(time.Second))
	default:
		progress("%s: found by %s in %s: %s", t.bug.Name, t.catch.Case, t.took.Round(time.Second), words(t.catch.Err))
	}
}

// runMutant hunts for a bug on its own stage.
func (s *seeded) runMutant(ctx context.Context, t *trial, parallel int) {
	start := time.Now()
	stage, err := s.environment.newStage(ctx)
	if err != nil {
		t.err = err
		return
	}
	defer func() { t.err = errors.Join(t.err, stage.Forget(), stage.Close()) }()
	stage.Prefix, stage.Patience = t.bug.Name+"-case", s.patience
	stage.Program, stage.Means = subject.Program{Path: t.program, Args: arguments}, regexp.MustCompile(means)
	t.err = s.environment.withJobs(ctx, stage, func(ctx context.Context) (err error) {
		c := &suite.Suite{Stage: stage, Parallel: parallel, Progress: progress}
		t.catch, err = c.Hunt(ctx, s.journeys, s.casesOf(t.bug))
		return err
	})
	t.took = time.Since(start)
}

// words returns the first line of an error, shortened and escaped for a table.
func words(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	const most = 160
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most]) + " …"
	}
	return strings.ReplaceAll(line, "|", "\\|")
}

// printMutationResults prints the results of all trials, and returns an error if a bug was not found.
func printMutationResults(out io.Writer, trials []*trial) error {
	var text strings.Builder
	text.WriteString("| bug | what a programmer got wrong | found by | what was seen | after |\n|---|---|---|---|---|\n")
	how := map[sort]int{}
	var missed []string
	for _, t := range trials {
		how[t.outcome()]++
		by, seen := "`"+t.catch.Case+"`", t.catch.Err
		if seen == nil {
			by, seen = "**not found**", cmp.Or(t.err, errNothing)
			missed = append(missed, t.bug.Name)
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s |\n", t.bug.Name, t.bug.About, by, words(seen), t.took.Round(time.Second))
	}
	fmt.Fprintf(&text, "\n%d of %d seeded bugs found: %d by a fault, %d after a restart or a new list, %d undisturbed\n",
		len(trials)-len(missed), len(trials), how[byFault], how[byRestart], how[undisturbed])
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	if len(missed) > 0 {
		return fmt.Errorf("not found: %s", strings.Join(missed, ", "))
	}
	return nil
}

// sort is the kind of disturbance that finds a bug.
type sort int

const (
	notFound sort = iota
	byFault
	byRestart
	undisturbed
)

// errNothing stands for what was seen of a bug that was not found.
var errNothing = errors.New("nothing")

func (t *trial) outcome() sort {
	switch {
	case t.catch.Err == nil:
		return notFound
	case !strings.HasPrefix(t.catch.Case, suite.Undisturbed+"/"):
		return byFault
	case errors.Is(t.catch.Err, suite.ErrWrites):
		return byRestart
	}
	return undisturbed
}
