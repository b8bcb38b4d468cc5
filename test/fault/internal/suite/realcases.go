package suite

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// realKind is the kind of cases with real instances.
const realKind = "real"

// chooseReal draws cases with real instances, if the stage can run them.
func (c *Suite) chooseReal(report *Report, journeys, disturbed []*journey.Journey) []Case {
	if c.Stage.Real == nil {
		return nil
	}
	c.Stage.Real.setJourneys(journeys)
	var chosen []Case
	draw := rand.New(rand.NewPCG(c.Seed, 1))
	for _, j := range journeys {
		for _, one := range RealCases(j) {
			report.tally(one.Kind).Possible++
			if drawn := draw.Float64() < c.RealSample; drawn && c.wanted(one) && slices.Contains(disturbed, j) {
				chosen = append(chosen, one)
			}
		}
	}
	draw.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return c.limit(chosen)
}

// mixed shuffles cases with and without real instances. Those with real ones mostly wait, and
// should not wait for each other.
func (c *Suite) mixed(standIns, real []Case) []Case {
	all := slices.Concat(standIns, real)
	rand.New(rand.NewPCG(c.Seed, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// replayWithRealInstances runs one case with real instances.
func (c *Suite) replayWithRealInstances(ctx context.Context, journeys []*journey.Journey, one Case) (*Report, error) {
	if c.Stage.Real != nil {
		c.Stage.Real.setJourneys(journeys)
	}
	report := &Report{}
	report.tally(one.Kind).Possible++
	c.runCase(ctx, report, []Case{one}, nil, time.Time{})
	return report, ctx.Err()
}
