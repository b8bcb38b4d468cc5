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
	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/fault/internal/subject"
	"example.com/nginx-operator/test/testenv"
)

// seeded has the harness prove itself: it looks for bugs that were put into the operator.
type seeded struct {
	only     []string
	cases    []string
	side     int
	parallel int
	patience time.Duration
	keep     string
	control  bool

	house    *house
	journeys []*journey.Journey
	dir      string
}

func newSeeded() *cobra.Command {
	var s seeded
	cmd := &cobra.Command{
		Use: "seeded", Short: "Look for bugs that are put into the operator, and tell how many are found", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&s.only, "bug", nil, "look for these bugs only")
	flags.StringSliceVar(&s.cases, "cases", nil, "look for them with these cases, and not with those of the list")
	flags.IntVar(&s.side, "side", 3, "bugs that are looked for side by side")
	flags.IntVar(&s.parallel, "parallel", 3, "cases at a time for each of them")
	flags.DurationVar(&s.patience, "patience", 45*time.Second, "how long something may take that has to come")
	flags.BoolVar(&s.control, "control", true, "play the cases with the operator as it is, first")
	flags.StringVar(&s.keep, "keep", "", "folder that keeps the logs of the operators")
	return cmd
}

// trial is the hunt for a bug, and what came of it.
type trial struct {
	bug     *bugs.Bug
	program string
	catch   campaign.Catch
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
	return inHouse(ctx, s.keep, (&options{}).install, func(ctx context.Context, h *house) error {
		s.house = h
		if s.control {
			if err := s.prove(ctx, out, all); err != nil {
				return err
			}
		}
		trials := s.hunt(ctx, all)
		if err := ctx.Err(); err != nil {
			return err
		}
		return tell(out, trials)
	})
}

// chosen are the bugs that are looked for.
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

// casesOf are those that a bug is looked for with.
func (s *seeded) casesOf(b *bugs.Bug) []string {
	if len(s.cases) > 0 {
		return s.cases
	}
	return b.Cases
}

// prove plays all cases with the operator as it is: that something is found means nothing if it is
// found there, too.
func (s *seeded) prove(ctx context.Context, out io.Writer, all []*bugs.Bug) error {
	var names []string
	for _, b := range all {
		for _, name := range s.casesOf(b) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	good := &trial{bug: &bugs.Bug{Name: "good", Cases: names}, program: filepath.Join(s.dir, "good")}
	progress("the operator as it is, in all cases of %d bugs", len(all))
	if err := bugs.BuildGood(ctx, testenv.Root(), good.program); err != nil {
		return err
	}
	if s.play(ctx, good, s.side*s.parallel); good.err != nil {
		return good.err
	}
	if good.catch.Err != nil {
		return fmt.Errorf("the operator as it is fails, so finding bugs means nothing: %s: %w", good.catch.Case, good.catch.Err)
	}
	_, err := fmt.Fprintf(out, "The operator as it is went well in %d plays of the same cases, in %s.\n\n", good.catch.Played, good.took.Round(time.Second))
	return err
}

// hunt looks for all bugs. The next one is built meanwhile.
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

// look looks for one bug, and tells at once what came of it.
func (s *seeded) look(ctx context.Context, t *trial) {
	if t.err == nil && ctx.Err() == nil {
		s.play(ctx, t, s.parallel)
	}
	switch {
	case ctx.Err() != nil:
	case t.err != nil:
		progress("%s: %v", t.bug.Name, t.err)
	case t.catch.Err == nil:
		progress("%s: NOT FOUND in %d plays, %s", t.bug.Name, t.catch.Played, t.took.Round(time.Second))
	default:
		progress("%s: found by %s in %s: %s", t.bug.Name, t.catch.Case, t.took.Round(time.Second), words(t.catch.Err))
	}
}

// play hunts on a stage of its own.
func (s *seeded) play(ctx context.Context, t *trial, parallel int) {
	start := time.Now()
	stage, err := s.house.stage(ctx)
	if err != nil {
		t.err = err
		return
	}
	defer func() { t.err = errors.Join(t.err, stage.Forget(), stage.Close()) }()
	stage.Prefix, stage.Patience = t.bug.Name+"-case", s.patience
	stage.Program, stage.Means = subject.Program{Path: t.program, Args: arguments}, regexp.MustCompile(means)
	t.err = s.house.withJobs(ctx, stage, func(ctx context.Context) (err error) {
		c := &campaign.Campaign{Stage: stage, Parallel: parallel, Progress: progress}
		t.catch, err = c.Hunt(ctx, s.journeys, s.casesOf(t.bug))
		return err
	})
	t.took = time.Since(start)
}

// words are the first line of an error, as a table can have it.
func words(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	const most = 160
	if runes := []rune(line); len(runes) > most {
		line = string(runes[:most]) + " …"
	}
	return strings.ReplaceAll(line, "|", "\\|")
}

// tell prints what came of all trials, and fails if a bug was not found.
func tell(out io.Writer, trials []*trial) error {
	var text strings.Builder
	text.WriteString("| bug | what a programmer got wrong | found by | what was seen | after |\n|---|---|---|---|---|\n")
	how := map[sort]int{}
	var missed []string
	for _, t := range trials {
		how[t.sort()]++
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

// sort is what it takes to find a bug.
type sort int

const (
	notFound sort = iota
	byFault
	byRestart
	undisturbed
)

// errNothing is what was seen of a bug that was not found.
var errNothing = errors.New("nothing")

func (t *trial) sort() sort {
	switch {
	case t.catch.Err == nil:
		return notFound
	case !strings.HasPrefix(t.catch.Case, campaign.Undisturbed+"/"):
		return byFault
	case errors.Is(t.catch.Err, campaign.ErrWrites):
		return byRestart
	}
	return undisturbed
}
