package main

import (
	"io"
	"testing"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/suite"
)

// TestNothingPlayed: a run that plays no case fails.
func TestNothingPlayed(t *testing.T) {
	o := &options{}
	for name, tt := range map[string]struct {
		report suite.Report
		well   bool
	}{
		"nothing":              {suite.Report{Tallies: []*suite.Tally{{Kind: "random", Possible: 100}}}, false},
		"something":            {suite.Report{Tallies: []*suite.Tally{{Kind: "random", Possible: 100, Ran: 1}}}, true},
		"a failure":            {suite.Report{Tallies: []*suite.Tally{{Kind: "random", Ran: 1}}, Failures: []suite.Failure{{Case: "random/walk/1", Err: io.EOF}}}, false},
		"the quiescence check": {suite.Report{Tallies: []*suite.Tally{{Kind: "crash", Ran: 1}}, Quiescence: &suite.Quiescence{Writes: make([]proxy.Request, 1)}}, false},
	} {
		if err := o.print(io.Discard, &tt.report, 0); (err == nil) != tt.well {
			t.Errorf("%s: %v", name, err)
		}
	}
}
