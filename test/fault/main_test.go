package main

import (
	"testing"

	"example.com/nginx-operator/test/fault/internal/campaign"
)

// TestAgain: what failed is played once more by one command.
func TestAgain(t *testing.T) {
	o := &options{sample: 0.5, seed: 7, random: 100, part: "1/4"}
	for failed, want := range map[string]string{
		"crash/scale/cut@1": "CASE='crash/scale/cut@1'",
		"golden/scale":      "CASE='golden/scale'",
		"random":            "FAULT='--only=random/ --sample=0.5 --seed=7 --random=100 --part=1/4'",
	} {
		if got := o.again(campaign.Failure{Case: failed}); got != want {
			t.Errorf("%s is played again by %s, want %s", failed, got, want)
		}
	}
}
