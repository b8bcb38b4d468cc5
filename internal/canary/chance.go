package canary

import "math"

// Quantiles of the normal distribution that belong to intervals of 99.7 % and of 95 %.
const (
	confidence     = 3
	jumpConfidence = 1.96
)

// share of something. All may be 0: then there is nothing to doubt about the part either.
type share struct{ part, all float64 }

func (s share) value() float64 {
	if s.all == 0 {
		return 0
	}
	return s.part / s.all
}

// interval is where the true share is, by Wilson's score: unlike the plain standard error,
// it does not take a share of 0 for certain.
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

// jump is by how much a share must exceed another one to have jumped.
const jump = 0.25

// Jumped tells whether the share of bad answers is above an earlier one by more than 25
// percentage points, and not by chance. Five answers that are all bad are enough, after twenty good ones. The
// margin is so wide that a change without an effect does not reach it by chance.
func Jumped(bad, all, badBefore, allBefore int64) bool {
	return surelyAbove(share{float64(bad), float64(all)}, share{float64(badBefore), float64(allBefore)}, jump, jumpConfidence)
}

// surelyAbove tells whether the true share a is higher than b by more than the margin, and
// not by chance.
func surelyAbove(a, b share, margin, z float64) bool {
	low, _ := a.interval(z)
	_, high := b.interval(z)
	doubt := math.Hypot(a.value()-low, high-b.value())
	return a.value()-b.value()-doubt > margin
}
