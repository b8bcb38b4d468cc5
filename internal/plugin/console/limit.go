package console

import "sync"

// limiter bounds the streams that are open at the same time, in total and for each user, with any
// number of tokens.
type limiter struct {
	total, each int

	mu   sync.Mutex
	open int
	// of has the viewers with open streams only, so total bounds it.
	of map[viewerID]int
}

func newLimiter(total, each int) *limiter {
	return &limiter{total: total, each: each, of: map[viewerID]int{}}
}

// acquire takes a place for a stream of a viewer, and returns the function that gives it back; nil: there is none.
func (l *limiter) acquire(of viewerID) (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.total || l.of[of] >= l.each {
		return nil
	}
	l.open++
	l.of[of]++
	return func() { l.release(of) }
}

func (l *limiter) release(of viewerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.of[of]--; l.of[of] == 0 {
		delete(l.of, of)
	}
}
