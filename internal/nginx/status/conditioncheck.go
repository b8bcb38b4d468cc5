package status

import "example.com/nginx-operator/internal/kube/conditioncheck"

// verdict is what a check concludes about its condition.
type verdict = conditioncheck.Verdict

// check returns a verdict, or nil to leave it to the checks that follow.
type check = conditioncheck.Check[*view]

func trueVerdict(reason, message string) *verdict { return conditioncheck.True(reason, message) }

func falseVerdict(reason, message string) *verdict { return conditioncheck.False(reason, message) }

func unknownVerdict(reason, message string) *verdict { return conditioncheck.Unknown(reason, message) }
