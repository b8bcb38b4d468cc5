package canary

import "math"

// Quantiles of the normal distribution for confidence intervals of 99.7 % and of 95 %.
const (
	zScore     = 3
	jumpZScore = 1.96
)

// share is a part of a whole. all may be 0: then the part is certain as well.
type share struct{ part, all float64 }

func (s share) value() float64 {
	if s.all == 0 {
		return 0
	}
	return s.part / s.all
}

// interval returns the confidence interval of the true share, by Wilson's score. Unlike the plain
// standard error, it does not treat a share of 0 as certain.
func (s share) interval(z float64) (low, high float64) {
	if s.all == 0 {
		return 0, 0
	}
	z2 := z * z
	p := s.value()
	center := p + z2/(2*s.all)
	half := z * math.Sqrt(p*(1-p)/s.all+z2/(4*s.all*s.all))
	scale := 1 + z2/s.all
	return max(0, (center-half)/scale), min(1, (center+half)/scale)
}

// jump is the difference between two shares that counts as a jump.
const jump = 0.25

// Jumped reports whether the share of bad answers exceeds an earlier one by more than 25 percentage
// points, and not by chance. After twenty good answers, five that are all bad are enough. The
// margin is so wide that a change without an effect does not reach it by chance.
func Jumped(bad, all, badBefore, allBefore int64) bool {
	return surelyAbove(share{float64(bad), float64(all)}, share{float64(badBefore), float64(allBefore)}, jump, jumpZScore)
}

// surelyAbove reports whether the true share a exceeds b by more than the margin, and not by
// chance.
func surelyAbove(a, b share, margin, z float64) bool {
	low, _ := a.interval(z)
	_, high := b.interval(z)
	doubt := math.Hypot(a.value()-low, high-b.value())
	return a.value()-b.value()-doubt > margin
}
