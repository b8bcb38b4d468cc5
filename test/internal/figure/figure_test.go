package figure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVerdict(t *testing.T) {
	tests := []struct {
		name  string
		value float64
		goal  Goal
		want  string
	}{
		{"no goal", 3, Goal{}, ""},
		{"at least, more", 3, AtLeast(2), "ok"},
		{"at least, the same", 2, AtLeast(2), "ok"},
		{"at least, less", 1.999, AtLeast(2), "short"},
		{"at most, less", 1, AtMost(2), "ok"},
		{"at most, the same", 0, AtMost(0), "ok"},
		{"at most, more", 0.001, AtMost(0), "short"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := HasGoal("f", tt.value, "s", tt.goal).Verdict(); got != tt.want {
				t.Errorf("the verdict is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPrint(t *testing.T) {
	figures := []Figure{
		{Measurement: "idle", Name: "writes", Value: 2, Unit: "requests", Goal: AtMost(0), Details: []string{"patch <pods>: 2"}},
		{Measurement: "create", Name: "speed", Value: 117.256, Unit: "objects/s", Goal: AtLeast(105)},
		{Measurement: "create", Name: "memory", Value: 80, Unit: "MiB"},
	}
	tests := []struct {
		format  string
		figures []Figure
		want    string
	}{
		{Table, figures, `
MEASUREMENT   FIGURE   VALUE    UNIT        GOAL    VERDICT
idle          writes   2        requests    ≤ 0     short
    patch <pods>: 2
create        speed    117.26   objects/s   ≥ 105   ok
create        memory   80       MiB         -       -
`},
		{JSON, figures[:1], `
[
  {
    "measurement": "idle",
    "name": "writes",
    "value": 2,
    "unit": "requests",
    "goal": "≤ 0",
    "verdict": "short",
    "details": [
      "patch <pods>: 2"
    ]
  }
]
`},
		{JSON, nil, "\n[]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.format, func(t *testing.T) {
			var out strings.Builder
			if err := Print(&out, tt.format, tt.figures); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := Print(&strings.Builder{}, "xml", figures); err == nil {
		t.Error("an unknown format is accepted")
	}
}
