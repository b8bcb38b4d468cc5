package main

import (
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/test/badconfig"
	"example.com/nginx-operator/test/hurtful"
	"example.com/nginx-operator/test/internal/figure"
)

func TestHurtfulCases(t *testing.T) {
	all := hurtful.All()
	tests := map[string]struct {
		cases   []string
		share   float64
		atLeast int
		atMost  int
	}{
		"all":      {nil, 1, len(all), len(all)},
		"none":     {nil, 0, 0, 0},
		"a fifth":  {nil, 0.2, len(all) / 5, len(all)/5 + 1},
		"by name":  {[]string{"return-444", "worker-processes-400"}, 1, 2, 2},
		"a family": {[]string{string(hurtful.NothingServed)}, 1, len(hurtful.ServingNothing()), len(all) / 2},
		"of few":   {[]string{"return-444"}, 0.1, 1, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &session{options: options{cases: tt.cases, share: tt.share}}
			chosen, err := s.hurtfulCases(all)
			if err != nil || len(chosen) < tt.atLeast || len(chosen) > tt.atMost {
				t.Errorf("%d are chosen, error %v", len(chosen), err)
			}
		})
	}
	s := &session{options: options{cases: []string{"typo"}, share: 1}}
	if _, err := s.hurtfulCases(all); err == nil {
		t.Error("a name that does not exist is taken")
	}
}

// TestHurtfulSummary: each way to miss the goal gives a figure that falls short.
func TestHurtfulSummary(t *testing.T) {
	good := hurtfulRow{
		Case:    hurtful.Case{Name: "a", Family: hurtful.Memory, Detection: hurtful.Foreseeable, Want: badconfig.Diagnosis{Messages: []string{"memory"}}},
		verdict: "False ConfigRejected", message: "out of memory", recovered: true,
	}
	if short := shortFigures([]hurtfulRow{good}); short != 0 {
		t.Errorf("%d figures of a good row fall short", short)
	}
	for name, change := range map[string]func(*hurtfulRow){
		"failed":          func(r *hurtfulRow) { r.failed = 1 },
		"loaded twice":    func(r *hurtfulRow) { r.loaded, r.Detection = 2, hurtful.InAnswers },
		"loaded":          func(r *hurtfulRow) { r.loaded = 1 },
		"not refused":     func(r *hurtfulRow) { r.verdict = "True ConfigAccepted" },
		"another message": func(r *hurtfulRow) { r.message = "no" },
		"crashing":        func(r *hurtfulRow) { r.crashing = 1 },
		"not recovered":   func(r *hurtfulRow) { r.recovered = false },
		"lost too much":   func(r *hurtfulRow) { r.failed, r.Detection = hurtfulLoss+1, hurtful.InAnswers },
	} {
		row := good
		change(&row)
		if short := shortFigures([]hurtfulRow{row}); short != 1 {
			t.Errorf("%s: %d figures fall short", name, short)
		}
	}
}

func shortFigures(rows []hurtfulRow) int {
	n := 0
	for _, f := range hurtfulSummary(rows, true) {
		if figure.Figure.Short(f) {
			n++
		}
	}
	return n
}

func TestHasLoaded(t *testing.T) {
	const revision = "0123456789abcdef"
	for name, tt := range map[string]struct {
		status instanceapi.Status
		want   bool
	}{
		"nothing": {instanceapi.Status{}, false},
		"tested":  {instanceapi.Status{Revisions: []instanceapi.Revision{{Revision: revision, Test: instanceapi.Passed}}}, false},
		"failed":  {instanceapi.Status{Revisions: []instanceapi.Revision{{Revision: revision, Load: instanceapi.Failed}}}, true},
		"another": {instanceapi.Status{Revisions: []instanceapi.Revision{{Revision: "other", Load: instanceapi.Passed}}}, false},
		"serving": {instanceapi.Status{Serving: revision}, true},
	} {
		if got := hasLoaded(tt.status, revision); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestHangingFigures: each way to miss the goal gives a figure that falls short.
func TestHangingFigures(t *testing.T) {
	good := hurtfulRow{Case: hurtful.Hanging()[0], verdict: "False ConfigRejected", loaded: 1, failed: hurtfulLoss, recovered: true}
	for name, change := range map[string]func(*hurtfulRow){
		"":              func(*hurtfulRow) {},
		"failed":        func(r *hurtfulRow) { r.failed = hangingLoss + 1 },
		"loaded twice":  func(r *hurtfulRow) { r.loaded = 2 },
		"served":        func(r *hurtfulRow) { r.verdict = "True ConfigAccepted" },
		"not recovered": func(r *hurtfulRow) { r.recovered = false },
	} {
		row, short := good, 0
		change(&row)
		for _, f := range hangingFigures([]hurtfulRow{row}) {
			if figure.Figure.Short(f) {
				short++
			}
		}
		if want := min(1, len(name)); short != want {
			t.Errorf("%q: %d figures fall short", name, short)
		}
	}
}
