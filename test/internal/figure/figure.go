// Package figure holds and prints the results of a measurement. It does no I/O except to the writer
// that it is given.
package figure

import (
	"strconv"
	"strings"
)

// Figure is one measured value, with an optional goal.
type Figure struct {
	// Measurement is the name of the measurement that produced the figure.
	Measurement string
	Name        string
	Value       float64
	Unit        string
	// Goal is zero for a figure that only informs.
	Goal Goal
	// Details are lines that explain the value, such as what was counted.
	Details []string
}

// Info returns a figure without a goal.
func Info(name string, value float64, unit string, details ...string) Figure {
	return Figure{Name: name, Value: value, Unit: unit, Details: details}
}

// HasGoal returns a figure that has to meet goal.
func HasGoal(name string, value float64, unit string, goal Goal, details ...string) Figure {
	return Figure{Name: name, Value: value, Unit: unit, Goal: goal, Details: details}
}

// Goal bounds a figure on one side.
type Goal struct {
	bound string
	limit float64
}

const (
	atLeast = "≥"
	atMost  = "≤"
)

// AtLeast returns a goal that a value of limit or more meets.
func AtLeast(limit float64) Goal { return Goal{atLeast, limit} }

// AtMost returns a goal that a value of limit or less meets.
func AtMost(limit float64) Goal { return Goal{atMost, limit} }

// String returns the goal as text, or an empty string if there is no goal.
func (g Goal) String() string {
	if g.bound == "" {
		return ""
	}
	return g.bound + " " + format(g.limit)
}

// Short reports whether the figure misses its goal.
func (f Figure) Short() bool {
	switch f.Goal.bound {
	case atLeast:
		return f.Value < f.Goal.limit
	case atMost:
		return f.Value > f.Goal.limit
	}
	return false
}

// Verdict returns ok or short, or an empty string if there is no goal.
func (f Figure) Verdict() string {
	switch {
	case f.Goal.bound == "":
		return ""
	case f.Short():
		return "short"
	}
	return "ok"
}

// format formats a value with at most two decimals.
func format(value float64) string {
	text := strconv.FormatFloat(value, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
