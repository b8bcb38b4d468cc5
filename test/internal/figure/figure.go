// Package figure holds what a measurement found and how it is printed. It is pure.
package figure

import (
	"strconv"
	"strings"
)

// Figure is one measured value, with the goal that it has to meet if there is one.
type Figure struct {
	// Measurement is the name of the measurement that found it.
	Measurement string
	Name        string
	Value       float64
	Unit        string
	// Goal is zero for a figure that only informs.
	Goal Goal
	// Details are lines that explain the value: what was counted, for example.
	Details []string
}

// Info is a figure without a goal.
func Info(name string, value float64, unit string, details ...string) Figure {
	return Figure{Name: name, Value: value, Unit: unit, Details: details}
}

// Judged is a figure that has to meet goal.
func Judged(name string, value float64, unit string, goal Goal, details ...string) Figure {
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

// AtLeast is met by a value of limit or more.
func AtLeast(limit float64) Goal { return Goal{atLeast, limit} }

// AtMost is met by a value of limit or less.
func AtMost(limit float64) Goal { return Goal{atMost, limit} }

// String is empty when there is no goal.
func (g Goal) String() string {
	if g.bound == "" {
		return ""
	}
	return g.bound + " " + format(g.limit)
}

// Short tells whether the figure misses its goal.
func (f Figure) Short() bool {
	switch f.Goal.bound {
	case atLeast:
		return f.Value < f.Goal.limit
	case atMost:
		return f.Value > f.Goal.limit
	}
	return false
}

// Verdict is ok or short, and empty where there is no goal.
func (f Figure) Verdict() string {
	switch {
	case f.Goal.bound == "":
		return ""
	case f.Short():
		return "short"
	}
	return "ok"
}

// format prints two decimals at most.
func format(value float64) string {
	text := strconv.FormatFloat(value, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}
