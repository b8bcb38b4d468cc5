package supervise

import (
	"strings"
	"testing"
	"time"

	"example.com/nginx-operator/internal/instance/window"
)

func TestComparison(t *testing.T) {
	tally := func(bad, answers int64) window.Tally {
		return window.Tally{Answers: answers, Bad: bad, Time: 30 * time.Second}
	}
	for name, tt := range map[string]struct {
		comparison
		want string
	}{
		"nothing before":                  {comparison{first: tally(20, 20)}, ""},
		"too few before":                  {comparison{first: tally(20, 20), before: tally(0, 19)}, ""},
		"too few to compare":              {comparison{first: tally(4, 4), before: tally(0, 1000)}, ""},
		"only errors":                     {comparison{first: tally(5, 5), before: tally(0, 1000)}, "100% of the first 5 answers are 4xx or 5xx, and 0% of those before were; if this is intended, set rollout.firstAnswers: Ignore"},
		"many more":                       {comparison{first: tally(60, 80), before: tally(50, 1000)}, "75% of the first 80"},
		"more":                            {comparison{first: tally(240, 1000), before: tally(0, 1000)}, ""},
		"as bad as before":                {comparison{first: tally(20, 20), before: tally(900, 1000)}, ""},
		"better":                          {comparison{first: tally(0, 20), before: tally(900, 1000)}, ""},
		"no request is understood":        {comparison{before: tally(0, 3000), silentLong: 12, since: time.Second}, "12 connections did not result in a request"},
		"connections that say nothing":    {comparison{before: tally(0, 30), silentLong: 12, since: time.Second}, ""},
		"there are no requests":           {comparison{before: tally(0, 3000), silentLong: 4, since: time.Second}, ""},
		"connections beside the requests": {comparison{first: tally(0, 50), before: tally(0, 3000), silentLong: 200, since: time.Second}, ""},
		"hardly any request":              {comparison{first: tally(0, 5), before: tally(0, 3000), silentLong: 100, since: time.Second}, "100 connections did not"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.problem(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("the problem is %q, and not %q", got, tt.want)
			}
		})
	}
}

// TestOpen: other pods wait only while more answers can still prove something.
func TestOpen(t *testing.T) {
	tally := func(bad, answers int64) window.Tally { return window.Tally{Answers: answers, Bad: bad} }
	busy, quiet := window.Tally{Answers: 600, Time: 30 * time.Second}, window.Tally{Answers: 120, Time: 30 * time.Second}
	for name, tt := range map[string]struct {
		comparison
		want bool
	}{
		"no answer yet":              {comparison{}, true},
		"no answer for a while":      {comparison{since: firstWait}, false},
		"no answer where few come":   {comparison{before: quiet, since: 2 * firstWait}, true},
		"one where few come":         {comparison{first: tally(0, 1), before: quiet, since: 2 * firstWait}, false},
		"a good answer":              {comparison{first: tally(0, 1)}, true},
		"good answers":               {comparison{first: tally(0, 4)}, false},
		"one waits":                  {comparison{first: tally(0, 4), begun: 5, grown: 1}, true},
		"one of many waits":          {comparison{first: tally(0, 6), begun: 7, grown: 1}, false},
		"many wait":                  {comparison{first: tally(0, 6), begun: 9, grown: 3}, true},
		"many wait for long":         {comparison{first: tally(0, 6), begun: 13, grown: 7, since: probationTime}, false},
		"none waits for nginx":       {comparison{first: tally(0, 4), begun: 13}, false},
		"bad answers":                {comparison{first: tally(2, 2)}, true},
		"bad answers for a while":    {comparison{first: tally(2, 2), since: firstWait}, true},
		"bad answers for long":       {comparison{first: tally(4, 4), since: suspiciousWait}, false},
		"mostly good ones":           {comparison{first: tally(1, 10)}, false},
		"some bad ones":              {comparison{first: tally(2, 10)}, true},
		"as bad as before":           {comparison{first: tally(2, 10), before: tally(20, 100)}, false},
		"connections for a while":    {comparison{silent: 1, since: firstWait}, true},
		"connections beside answers": {comparison{first: tally(0, 4), silent: 3}, false},
		"fewer than expected":        {comparison{first: tally(0, 2), before: busy, since: firstWait}, true},
		"half of those expected":     {comparison{first: tally(0, 3), before: busy, since: firstWait}, false},
		"fewer for long":             {comparison{first: tally(0, 2), before: busy, since: suspiciousWait}, false},
		"fewer, and two wait":        {comparison{first: tally(0, 2), before: busy, begun: 6, grown: 2, since: suspiciousWait}, true},
		"as many, and two wait":      {comparison{first: tally(0, 40), before: busy, begun: 42, grown: 2, since: suspiciousWait}, false},
		"two wait for long":          {comparison{first: tally(0, 2), before: busy, begun: 6, grown: 2, since: probationTime}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.open(); got != tt.want {
				t.Errorf("open: %t", got)
			}
		})
	}
}
