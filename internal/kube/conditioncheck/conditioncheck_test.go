package conditioncheck

import "testing"

// TestEvaluate: the first check that has a verdict decides.
func TestEvaluate(t *testing.T) {
	below := func(limit int, verdict *Verdict) Check[int] {
		return func(n int) *Verdict {
			if n < limit {
				return verdict
			}
			return nil
		}
	}
	checks := []Check[int]{below(1, False("None", "no pod serves")), below(3, Unknown("Few", "too few pods serve")), below(5, True("Enough", "enough pods serve"))}
	for n, want := range map[int]Verdict{
		0: {"False", "None", "no pod serves"},
		1: {"Unknown", "Few", "too few pods serve"},
		3: {"True", "Enough", "enough pods serve"},
		5: {Status: "Unknown"},
	} {
		if got := Evaluate(n, checks); got != want {
			t.Errorf("%d: %+v, want %+v", n, got, want)
		}
	}
}
