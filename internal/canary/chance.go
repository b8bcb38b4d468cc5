package canary

import "math"

// confidence is the quantile of the normal distribution that belongs to an interval of
// 99.7 %.
const confidence = 3

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
func (s share) interval() (low, high float64) {
	if s.all == 0 {
		return 0, 0
	}
	const z2 = confidence * confidence
	p := s.value()
	center := p + z2/(2*s.all)
	half := confidence * math.Sqrt(p*(1-p)/s.all+z2/(4*s.all*s.all))
	scale := 1 + z2/s.all
	return max(0, (center-half)/scale), min(1, (center+half)/scale)
}

// surelyAbove tells whether the true share a is higher than b by more than the margin, and
// not by chance.
func surelyAbove(a, b share, margin float64) bool {
	low, _ := a.interval()
	_, high := b.interval()
	doubt := math.Hypot(a.value()-low, high-b.value())
	return a.value()-b.value()-doubt > margin
}
