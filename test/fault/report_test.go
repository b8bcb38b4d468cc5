package main

import (
	"io"
	"testing"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/suite"
)

// TestNoCaseRan: a run without a case fails.
func TestNoCaseRan(t *testing.T) {
	o := &options{}
	for name, tt := range map[string]struct {
		report   suite.Report
		succeeds bool
	}{
		"nothing":              {suite.Report{Tallies: []*suite.Tally{{Kind: "random", Possible: 100}}}, false},
		"something":            {suite.Report{Tallies: []*suite.Tally{{Kind: "random", Possible: 100, Ran: 1}}}, true},
		"a failure":            {suite.Report{Tallies: []*suite.Tally{{Kind: "random", Ran: 1}}, Failures: []suite.Failure{{Case: "random/walk/1", Err: io.EOF}}}, false},
		"the quiescence check": {suite.Report{Tallies: []*suite.Tally{{Kind: "crash", Ran: 1}}, Quiescence: &suite.Quiescence{Writes: make([]proxy.Request, 1)}}, false},
	} {
		if err := o.print(io.Discard, &tt.report, 0); (err == nil) != tt.succeeds {
			t.Errorf("%s: %v", name, err)
		}
	}
}
