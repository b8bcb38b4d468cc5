package main

import (
	"io"
	"testing"

	"example.com/nginx-operator/test/fault/internal/campaign"
	"example.com/nginx-operator/test/fault/internal/proxy"
)

// TestNothingPlayed: a run without a case proves nothing.
func TestNothingPlayed(t *testing.T) {
	o := &options{}
	for name, tt := range map[string]struct {
		report campaign.Report
		well   bool
	}{
		"nothing":   {campaign.Report{Tallies: []*campaign.Tally{{Kind: "random", Possible: 100}}}, false},
		"something": {campaign.Report{Tallies: []*campaign.Tally{{Kind: "random", Possible: 100, Played: 1}}}, true},
		"a failure": {campaign.Report{Tallies: []*campaign.Tally{{Kind: "random", Played: 1}}, Failures: []campaign.Failure{{Case: "random/walk/1", Err: io.EOF}}}, false},
		"the vigil": {campaign.Report{Tallies: []*campaign.Tally{{Kind: "crash", Played: 1}}, Vigil: &campaign.Vigil{Writes: make([]proxy.Request, 1)}}, false},
	} {
		if err := o.print(io.Discard, &tt.report, 0); (err == nil) != tt.well {
			t.Errorf("%s: %v", name, err)
		}
	}
}
