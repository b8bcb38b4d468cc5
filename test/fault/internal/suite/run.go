package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/nginx-operator/test/fault/internal/journey"
	"example.com/nginx-operator/test/internal/part"
)

// Suite runs many cases.
type Suite struct {
	Stage *Stage
	// Fixture is the object whose fields are changed; nil: there is none.
	Fixture *Fixture
	// Random is the number of random cases.
	Random int
	// Parallel is the number of cases at a time.
	Parallel int
	// Only are prefixes of the names of the cases to run; empty: all cases.
	Only []string
	// Each is the maximum number of cases of each kind to run; 0: there is no such limit. With one, the cases come from
	// twice as many journeys, drawn by Seed, and the other journeys run only undisturbed, once.
	Each int
	// Sample is the fraction of the cases of each kind to run, from 0 to 1, drawn by Seed.
	Sample float64
	Seed   uint64
	// Part restricts the cases to one part.
	Part part.Part
	// RealSample is the fraction of the cases with real instances.
	RealSample float64
	// Until is the time after which no further case starts.
	Until time.Time
	// Silence is how long operators then manage the ends of cases; 0: there is no such check.
	Silence time.Duration
	// Progress reports progress.
	Progress func(format string, args ...any)

	// one is the name of the only case to run; empty: there is no such restriction.
	one string
}

// Tally has the results of the cases of a kind.
type Tally struct {
	Kind string
	// Possible is the number of cases, and Ran the number of those that were run. Of these,
	// Missed were not disturbed, because the request or event to disturb did not occur, and Failed
	// failed.
	Possible, Ran, Missed, Failed int
}

// Failure is a failed case.
type Failure struct {
	Case string
	Err  error
}

// Report has the results of a suite.
type Report struct {
	Tallies  []*Tally
	Failures []Failure
	// Quiescence is the result of the check after the cases; nil: there was none.
	Quiescence *Quiescence
	fixture    *study
	// Left is the number of cases that were not run for lack of time.
	Left int
}

func (r *Report) tally(kind string) *Tally {
	for _, t := range r.Tallies {
		if t.Kind == kind {
			return t
		}
	}
	t := &Tally{Kind: kind}
	r.Tallies = append(r.Tallies, t)
	return t
}

// Run runs the cases of the fixture and of all journeys, and returns the results. After an error,
// it returns those so far.
func (c *Suite) Run(ctx context.Context, journeys []*journey.Journey) (*Report, error) {
	report := &Report{}
	others := slices.ContainsFunc(journeys, func(j *journey.Journey) bool { return c.inspects(j.Name, append([]string{"real"}, kinds...)...) })
	if err := c.study(ctx, report, others); err != nil {
		return report, err
	}
	disturbed := c.drawJourneys(journeys)
	real := c.chooseReal(report, journeys, disturbed)
	journeys = slices.DeleteFunc(slices.Clone(journeys), func(j *journey.Journey) bool { return !c.inspects(j.Name, kinds...) })
	goldens := c.goldens(ctx, report, journeys, disturbed)
	var all []Case
	for _, j := range journeys {
		if golden := goldens[j.Name]; golden != nil {
			all = append(all, possible(j.Name, golden)...)
		}
	}
	c.runCase(ctx, report, c.mixed(c.choose(report, all), real), goldens, c.Until)
	var err error
	// With no end kept, the operator would get no namespace and manage those of the failed cases,
	// too.
	if ends := c.Stage.ends(); c.Silence > 0 && ends > 0 && ctx.Err() == nil {
		c.Progress("starting the quiescence check of the ends of %d cases, for %s", ends, c.Silence)
		report.Quiescence, err = c.Stage.Quiescence(ctx, c.Silence)
	}
	return report, errors.Join(err, ctx.Err())
}

// kinds are the kinds of cases of journeys.
var kinds = []string{"crash", "pair", "read", "stale", "unobserved", "leaders", "rival", "order", "instance"}

// Kinds returns all kinds of cases.
func Kinds() []string { return append([]string{Undisturbed, "property", "random", realKind}, kinds...) }

// inspects reports whether a case of the journey with one of the kinds may have to be run.
func (c *Suite) inspects(journey string, of ...string) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(of, func(kind string) bool {
		beginning := strings.TrimSuffix(kind+"/"+journey, "/") + "/"
		return slices.ContainsFunc(c.Only, func(only string) bool {
			return strings.HasPrefix(beginning, only) || strings.HasPrefix(only, beginning)
		})
	})
}

// drawJourneys draws the journeys that have cases.
func (c *Suite) drawJourneys(all []*journey.Journey) []*journey.Journey {
	if c.Each == 0 || 2*c.Each >= len(all) {
		return all
	}
	drawn := slices.Clone(all)
	rand.New(rand.NewPCG(c.Seed, 3)).Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn[:2*c.Each]
}

// goldens runs every journey undisturbed, and returns the golden runs of those to disturb. A journey that fails has no
// golden run, and no cases.
func (c *Suite) goldens(ctx context.Context, report *Report, journeys, disturbed []*journey.Journey) map[string]*Golden {
	c.Stage.journeys = map[string]*journey.Journey{}
	for _, j := range journeys {
		c.Stage.journeys[j.Name] = j
	}
	goldens := map[string]*Golden{}
	var mu sync.Mutex
	c.each(ctx, len(journeys), time.Time{}, func(i int) {
		run := c.Stage.Golden
		if !slices.Contains(disturbed, journeys[i]) {
			run = c.Stage.Undisturbed
		}
		golden, err := run(ctx, journeys[i])
		mu.Lock()
		defer mu.Unlock()
		tally := report.tally(Undisturbed)
		tally.Possible++
		tally.Ran++
		if err != nil {
			c.failed(ctx, report, tally, Undisturbed+"/"+journeys[i].Name, err)
			return
		}
		if slices.Contains(disturbed, journeys[i]) {
			goldens[journeys[i].Name] = golden
		}
		events := 0
		for _, of := range golden.Events {
			events += len(of)
		}
		c.Progress("%s: %d writes, %d reads, %d orders, %d events, %d fields vary between runs", journeys[i].Name, len(golden.Writes), len(golden.Reads), golden.Orders, events, len(golden.Mask.Learned))
	})
	return goldens
}

// failed records a failed case, unless the context has ended.
func (c *Suite) failed(ctx context.Context, report *Report, tally *Tally, name string, err error) {
	if ctx.Err() != nil {
		return
	}
	tally.Failed++
	report.Failures = append(report.Failures, Failure{name, err})
	message, _, _ := strings.Cut(err.Error(), "\n")
	c.Progress("FAILED %s: %s", name, message)
}

// each calls do for 0 to n-1, with at most Parallel calls at a time. It starts no call after until,
// unless that is zero.
func (c *Suite) each(ctx context.Context, n int, until time.Time, do func(i int)) {
	var group sync.WaitGroup
	places := make(chan struct{}, c.Parallel)
	for i := range n {
		if ctx.Err() != nil || !until.IsZero() && time.Now().After(until) {
			break
		}
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	group.Wait()
}

// choose draws the cases to run.
func (c *Suite) choose(report *Report, all []Case) []Case {
	var chosen []Case
	draw := rand.New(rand.NewPCG(c.Seed, 0))
	for _, one := range all {
		report.tally(one.Kind).Possible++
		// Draw in any case, so that Only does not change which cases are drawn.
		if drawn := draw.Float64() < c.Sample; drawn && c.wanted(one) {
			chosen = append(chosen, one)
		}
	}
	draw.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return c.limit(chosen)
}

// limit keeps the first cases of each kind.
func (c *Suite) limit(cases []Case) []Case {
	of := map[string]int{}
	return slices.DeleteFunc(cases, func(one Case) bool {
		of[one.Kind]++
		return c.Each > 0 && of[one.Kind] > c.Each
	})
}

// possible returns all cases of a journey.
func possible(journey string, g *Golden) []Case {
	return slices.Concat(CrashCases(journey, g), PairCases(journey, g), ReadCases(journey, g), StaleCases(journey, g), UnobservedCases(journey, g), ConcurrentWriterCases(journey), OrderCases(journey, g), InstanceCases(journey))
}

func (c *Suite) wanted(one Case) bool {
	if c.one != "" {
		return one.String() == c.one
	}
	if !c.Part.Has(one.String()) {
		return false
	}
	return len(c.Only) == 0 || slices.ContainsFunc(c.Only, func(prefix string) bool { return strings.HasPrefix(one.String(), prefix) })
}

func (c *Suite) runCase(ctx context.Context, report *Report, cases []Case, goldens map[string]*Golden, until time.Time) {
	if len(cases) == 0 {
		return
	}
	c.Progress("%d cases", len(cases))
	var mu sync.Mutex
	begun := 0
	c.each(ctx, len(cases), until, func(i int) {
		one := cases[i]
		reached, err := one.run(ctx, c.Stage, goldens[one.Journey])
		mu.Lock()
		defer mu.Unlock()
		begun++
		tally := report.tally(one.Kind)
		tally.Ran++
		if !reached {
			tally.Missed++
		}
		if err != nil {
			c.failed(ctx, report, tally, one.String(), err)
		}
		if begun%50 == 0 {
			c.Progress("%d of %d cases, %d failed", begun, len(cases), len(report.Failures))
		}
	})
	report.Left += len(cases) - begun
}

// Replay runs one case. It runs the case's journey undisturbed first, or only that.
func (c *Suite) Replay(ctx context.Context, journeys []*journey.Journey, name string) (*Report, error) {
	report := &Report{}
	if kind, _, _ := strings.Cut(name, "/"); kind == "property" || kind == "random" {
		c.one, c.Only, c.Sample = name, []string{name}, 1
		return report, c.study(ctx, report, false)
	}
	one, err := Parse(name)
	if about, undisturbed := strings.CutPrefix(name, Undisturbed+"/"); undisturbed {
		one, err = Case{Kind: Undisturbed, Journey: about}, nil
	}
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(journeys, func(j *journey.Journey) bool { return j.Name == one.Journey })
	if i < 0 {
		return nil, fmt.Errorf("there is no journey %s", one.Journey)
	}
	if one.Kind == realKind {
		return c.replayWithRealInstances(ctx, journeys, one)
	}
	goldens := c.goldens(ctx, report, journeys[i:i+1], journeys[i:i+1])
	if len(goldens) == 0 || one.Kind == Undisturbed {
		return report, ctx.Err()
	}
	report.tally(one.Kind).Possible++
	c.runCase(ctx, report, []Case{one}, goldens, time.Time{})
	return report, ctx.Err()
}
