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
		"too few to tell":                 {comparison{first: tally(4, 4), before: tally(0, 1000)}, ""},
		"only errors":                     {comparison{first: tally(5, 5), before: tally(0, 1000)}, "100% of the first 5 answers are 4xx or 5xx, and 0% of those before were; if that is meant, set rollout.firstAnswers: Ignore"},
		"many more":                       {comparison{first: tally(60, 80), before: tally(50, 1000)}, "75% of the first 80"},
		"more":                            {comparison{first: tally(400, 1000), before: tally(0, 1000)}, ""},
		"as bad as before":                {comparison{first: tally(20, 20), before: tally(900, 1000)}, ""},
		"better":                          {comparison{first: tally(0, 20), before: tally(900, 1000)}, ""},
		"no request is understood":        {comparison{before: tally(0, 3000), silent: 12, since: time.Second}, "12 connections have come, and nginx understood no request"},
		"connections that say nothing":    {comparison{before: tally(0, 30), silent: 12, since: time.Second}, ""},
		"nobody has come":                 {comparison{before: tally(0, 3000), silent: 4, since: time.Second}, ""},
		"connections beside the requests": {comparison{first: tally(0, 5), before: tally(0, 3000), silent: 100, since: time.Second}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.problem(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("the problem is %q, and not %q", got, tt.want)
			}
		})
	}
}
