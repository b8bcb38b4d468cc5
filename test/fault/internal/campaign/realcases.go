package campaign

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/nginx-operator/test/fault/internal/journey"
)

// realKind is the kind of cases with real instances.
const realKind = "real"

// chooseReal draws the cases with real instances, if there can be any.
func (c *Campaign) chooseReal(report *Report, journeys []*journey.Journey) []Case {
	if c.Stage.Real == nil {
		return nil
	}
	c.Stage.Real.know(journeys)
	var chosen []Case
	draw := rand.New(rand.NewPCG(c.Seed, 1))
	for _, j := range journeys {
		for _, one := range RealCases(j) {
			report.tally(one.Kind).Possible++
			if drawn := draw.Float64() < c.RealSample; drawn && c.wanted(one) {
				chosen = append(chosen, one)
			}
		}
	}
	return chosen
}

// mixed are cases of both sorts: those with real instances mostly wait, and should not do so for each
// other.
func (c *Campaign) mixed(standIns, real []Case) []Case {
	all := slices.Concat(standIns, real)
	rand.New(rand.NewPCG(c.Seed, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// replayReal plays one case with real instances.
func (c *Campaign) replayReal(ctx context.Context, journeys []*journey.Journey, one Case) (*Report, error) {
	if c.Stage.Real != nil {
		c.Stage.Real.know(journeys)
	}
	report := &Report{}
	report.tally(one.Kind).Possible++
	c.play(ctx, report, []Case{one}, nil, time.Time{})
	return report, ctx.Err()
}
