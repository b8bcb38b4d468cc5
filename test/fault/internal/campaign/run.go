package campaign

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
)

// Campaign is a run of many cases.
type Campaign struct {
	Stage *Stage
	// Specimen has its fields changed; nil: nothing has.
	Specimen *Specimen
	// Random is how many random walks there are.
	Random int
	// Parallel is how many cases are played at a time.
	Parallel int
	// Only are the beginnings of the names of cases that are played; empty: all.
	Only []string
	// Sample is the part of the cases of each kind that is played, drawn by Seed: from 0 to 1.
	Sample float64
	Seed   uint64
	// Part is that of the cases which may be played.
	Part Part
	// RealSample is the part of those with real instances.
	RealSample float64
	// Until is when no further case is begun.
	Until time.Time
	// Silence is how long one operator looks after the ends of cases afterwards; 0: not at all.
	Silence time.Duration
	// Progress is told what happens.
	Progress func(format string, args ...any)

	// one is the name of the only case that is played; empty: there is no such.
	one string
}

// Tally is what became of the cases of a kind.
type Tally struct {
	Kind string
	// Possible cases there are, Played were. Of these, Missed were not disturbed, since what was to
	// be disturbed did not come this time, and Failed did not end well.
	Possible, Played, Missed, Failed int
}

// Failure is a case that did not end well.
type Failure struct {
	Case string
	Err  error
}

// Report is what became of a campaign.
type Report struct {
	Tallies  []*Tally
	Failures []Failure
	// Vigil follows the cases; nil: there was none.
	Vigil    *Vigil
	specimen *study
	// Left were not played for want of time.
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

// Run plays the cases of the specimen and of all journeys, and tells what became of them, also of those before an error.
func (c *Campaign) Run(ctx context.Context, journeys []*journey.Journey) (*Report, error) {
	report := &Report{}
	others := slices.ContainsFunc(journeys, func(j *journey.Journey) bool { return c.looksAt(j.Name, append([]string{"real"}, kinds...)...) })
	if err := c.study(ctx, report, others); err != nil {
		return report, err
	}
	real := c.chooseReal(report, journeys)
	journeys = slices.DeleteFunc(slices.Clone(journeys), func(j *journey.Journey) bool { return !c.looksAt(j.Name, kinds...) })
	goldens := c.goldens(ctx, report, journeys)
	var all []Case
	for _, j := range journeys {
		if golden := goldens[j.Name]; golden != nil {
			all = append(all, possible(j.Name, golden)...)
		}
	}
	c.play(ctx, report, c.mixed(c.choose(report, all), real), goldens, c.Until)
	var err error
	// Without a namespace, it would look after those of the cases that failed.
	if ends := c.Stage.ends(); c.Silence > 0 && ends > 0 && ctx.Err() == nil {
		c.Progress("the ends of %d cases are looked after for %s", ends, c.Silence)
		report.Vigil, err = c.Stage.Vigil(ctx, c.Silence)
	}
	return report, errors.Join(err, ctx.Err())
}

// kinds are those of the cases of journeys.
var kinds = []string{"crash", "pair", "read", "stale", "unobserved", "leaders", "rival", "instance"}

// looksAt tells whether there can be a case to play of some kinds of a journey.
func (c *Campaign) looksAt(journey string, of ...string) bool {
	return len(c.Only) == 0 || slices.ContainsFunc(of, func(kind string) bool {
		beginning := strings.TrimSuffix(kind+"/"+journey, "/") + "/"
		return slices.ContainsFunc(c.Only, func(only string) bool {
			return strings.HasPrefix(beginning, only) || strings.HasPrefix(only, beginning)
		})
	})
}

// goldens plays every journey undisturbed. One that does not end well has no golden end, and no cases.
func (c *Campaign) goldens(ctx context.Context, report *Report, journeys []*journey.Journey) map[string]*Golden {
	c.Stage.journeys = map[string]*journey.Journey{}
	for _, j := range journeys {
		c.Stage.journeys[j.Name] = j
	}
	goldens := map[string]*Golden{}
	var mu sync.Mutex
	c.each(ctx, len(journeys), time.Time{}, func(i int) {
		golden, err := c.Stage.Golden(ctx, journeys[i])
		mu.Lock()
		defer mu.Unlock()
		tally := report.tally(Undisturbed)
		tally.Possible++
		tally.Played++
		if err != nil {
			c.failed(ctx, report, tally, Undisturbed+"/"+journeys[i].Name, err)
			return
		}
		goldens[journeys[i].Name] = golden
		events := 0
		for _, of := range golden.Events {
			events += len(of)
		}
		c.Progress("%s: %d writes, %d reads, %d events, %d fields are others each time", journeys[i].Name, len(golden.Writes), len(golden.Reads), events, len(golden.Mask.Learned))
	})
	return goldens
}

// failed notes a case that did not end well, unless everything was told to end.
func (c *Campaign) failed(ctx context.Context, report *Report, tally *Tally, name string, err error) {
	if ctx.Err() != nil {
		return
	}
	tally.Failed++
	report.Failures = append(report.Failures, Failure{name, err})
	words, _, _ := strings.Cut(err.Error(), "\n")
	c.Progress("FAILED %s: %s", name, words)
}

// each does something so many times, as many at a time as are allowed. Nothing is begun after until,
// unless that is zero.
func (c *Campaign) each(ctx context.Context, n int, until time.Time, do func(i int)) {
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

// choose draws the cases that are played.
func (c *Campaign) choose(report *Report, all []Case) []Case {
	var chosen []Case
	draw := rand.New(rand.NewPCG(c.Seed, 0))
	for _, one := range all {
		report.tally(one.Kind).Possible++
		// Drawn in any case, so that the same are, whichever are wanted.
		if drawn := draw.Float64() < c.Sample; drawn && c.wanted(one) {
			chosen = append(chosen, one)
		}
	}
	draw.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen
}

// possible are all cases of a journey.
func possible(journey string, g *Golden) []Case {
	return slices.Concat(CrashCases(journey, g), PairCases(journey, g), ReadCases(journey, g), StaleCases(journey, g), UnobservedCases(journey, g), TogetherCases(journey), InstanceCases(journey))
}

func (c *Campaign) wanted(one Case) bool {
	if c.one != "" {
		return one.String() == c.one
	}
	if !c.Part.has(one.String()) {
		return false
	}
	return len(c.Only) == 0 || slices.ContainsFunc(c.Only, func(prefix string) bool { return strings.HasPrefix(one.String(), prefix) })
}

func (c *Campaign) play(ctx context.Context, report *Report, cases []Case, goldens map[string]*Golden, until time.Time) {
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
		tally.Played++
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

// Replay plays one case, after its journey undisturbed, or that alone.
func (c *Campaign) Replay(ctx context.Context, journeys []*journey.Journey, name string) (*Report, error) {
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
		return c.replayReal(ctx, journeys, one)
	}
	goldens := c.goldens(ctx, report, journeys[i:i+1])
	if len(goldens) == 0 || one.Kind == Undisturbed {
		return report, ctx.Err()
	}
	report.tally(one.Kind).Possible++
	c.play(ctx, report, []Case{one}, goldens, time.Time{})
	return report, ctx.Err()
}
