package logs

import (
	"slices"
	"time"
)

// window is how long a line waits for earlier ones of other pods.
const window = 300 * time.Millisecond

// merger puts lines of several pods in the order of their times.
type merger struct {
	lines []arrived
}

// arrived is a line with the time at which it came.
type arrived struct {
	Line
	at time.Time
}

func (m *merger) add(line Line, now time.Time) { m.lines = append(m.lines, arrived{line, now}) }

// take returns the lines that have waited long enough, in their order. With all, it returns every line.
func (m *merger) take(now time.Time, all bool) []Line {
	slices.SortStableFunc(m.lines, func(a, b arrived) int { return a.Time.Compare(b.Time) })
	n := len(m.lines)
	if !all {
		// A line that comes late must not hold up those that have waited.
		n = 0
		for i, line := range m.lines {
			if now.Sub(line.at) >= window {
				n = i + 1
			}
		}
	}
	taken := make([]Line, 0, n)
	for _, line := range m.lines[:n] {
		taken = append(taken, line.Line)
	}
	m.lines = slices.Clone(m.lines[n:])
	return taken
}
