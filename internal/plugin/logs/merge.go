package logs

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// mergeSorted shows the lines of logs, each of which is in the order of its times, in one order. It holds one line of each log.
func mergeSorted(logs []<-chan Line, show func(Line) error) error {
	next := &heads{}
	for i, log := range logs {
		next.take(log, i)
	}
	heap.Init(next)
	for next.Len() > 0 {
		first := &(*next)[0]
		if err := show(first.line); err != nil {
			return err
		}
		if line, more := <-first.rest; more {
			first.line = line
			heap.Fix(next, 0)
		} else {
			heap.Pop(next)
		}
	}
	return nil
}

// head is the first line of a log, with what comes after it.
type head struct {
	line  Line
	rest  <-chan Line
	index int
}

// heads are a heap: the earliest line is first.
type heads []head

// take adds a log, unless it is empty.
func (h *heads) take(log <-chan Line, index int) {
	if line, more := <-log; more {
		*h = append(*h, head{line, log, index})
	}
}

// Len implements heap.Interface.
func (h *heads) Len() int { return len(*h) }

// Less implements heap.Interface. Lines of the same time are in the order of their logs.
func (h *heads) Less(i, j int) bool {
	a, b := (*h)[i], (*h)[j]
	return cmp.Or(a.line.Time.Compare(b.line.Time), cmp.Compare(a.index, b.index)) < 0
}

// Swap implements heap.Interface.
func (h *heads) Swap(i, j int) { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }

// Push implements heap.Interface.
func (h *heads) Push(x any) { *h = append(*h, x.(head)) }

// Pop implements heap.Interface.
func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// window is how long a line waits for earlier ones of other pods.
const window = 300 * time.Millisecond

// merger puts lines of several pods in the order of their times while they come.
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
