package main

import (
	"io"
	"testing"

	"example.com/nginx-operator/test/fault/internal/proxy"
	"example.com/nginx-operator/test/fault/internal/suite"
)

// TestNoCaseRan: a run without a case fails, and one with a few cases of each kind if it lacks a kind.
func TestNoCaseRan(t *testing.T) {
	var all, some []*suite.Tally
	for _, kind := range suite.Kinds() {
		all = append(all, &suite.Tally{Kind: kind, Possible: 9, Ran: 1})
		some = append(some, &suite.Tally{Kind: kind, Possible: 9, Ran: len(some)})
	}
	each := options{each: 3, images: "images"}
	for name, tt := range map[string]struct {
		options  options
		report   suite.Report
		succeeds bool
	}{
		"each kind":            {each, suite.Report{Tallies: all}, true},
		"each kind but one":    {each, suite.Report{Tallies: some}, false},
		"nothing":              {options{}, suite.Report{Tallies: []*suite.Tally{{Kind: "random", Possible: 100}}}, false},
		"something":            {options{}, suite.Report{Tallies: []*suite.Tally{{Kind: "random", Possible: 100, Ran: 1}}}, true},
		"a failure":            {options{}, suite.Report{Tallies: []*suite.Tally{{Kind: "random", Ran: 1}}, Failures: []suite.Failure{{Case: "random/walk/1", Err: io.EOF}}}, false},
		"the quiescence check": {options{}, suite.Report{Tallies: []*suite.Tally{{Kind: "crash", Ran: 1}}, Quiescence: &suite.Quiescence{Writes: make([]proxy.Request, 1)}}, false},
	} {
		if err := tt.options.print(io.Discard, &tt.report, 0); (err == nil) != tt.succeeds {
			t.Errorf("%s: %v", name, err)
		}
	}
}
