package canary

import (
	"math"
	"math/rand/v2"
	"testing"

	"example.com/nginx-operator/internal/instanceapi"
)

// window returns a window in which all requests without an error took the same number of seconds.
func window(requests, errors int64, seconds float64) instanceapi.RequestWindow {
	w := instanceapi.RequestWindow{Seconds: 60, Requests: requests, Errors: errors}
	w.Latency.Observe(seconds, requests-errors)
	return w
}

// spread returns a window of n requests: a share of them took slow seconds, the rest fast.
func spread(n int64, fast, slow, share float64) instanceapi.RequestWindow {
	w := instanceapi.RequestWindow{Seconds: 60, Requests: n}
	late := int64(math.Round(share * float64(n)))
	w.Latency.Observe(fast, n-late)
	w.Latency.Observe(slow, late)
	return w
}

// TestInProgress: requests that are not answered end a canary, and those that take long by nature do not.
func TestInProgress(t *testing.T) {
	pod := func(requests, inProgress int64) instanceapi.RequestWindow {
		w := window(requests, 0, .01)
		w.InProgress = inProgress
		return w
	}
	type windows = []instanceapi.RequestWindow
	for name, tt := range map[string]struct {
		canary, others windows
		want           Outcome
	}{
		"none is answered":            {windows{pod(0, 14)}, windows{pod(600, 1), pod(600, 1)}, Bad},
		"few are answered":            {windows{pod(30, 14)}, windows{pod(600, 1)}, Bad},
		"few wait":                    {windows{pod(0, 9)}, windows{pod(600, 0)}, Undecided},
		"websockets in all pods":      {windows{pod(10, 500)}, windows{pod(600, 400)}, Undecided},
		"websockets in the canary":    {windows{pod(500, 500)}, windows{pod(600, 1)}, Good},
		"all pods hang":               {windows{pod(0, 40)}, windows{pod(600, 40), pod(600, 38)}, Undecided},
		"the others have no requests": {windows{pod(0, 40)}, windows{pod(3, 0)}, Undecided},
		"no other pods":               {windows{pod(0, 40)}, nil, Undecided},
		"an older release":            {windows{pod(100, 0)}, windows{pod(600, 0)}, Good},
	} {
		if v := Analyze(tt.canary, tt.others, Limits{}); v.Outcome != tt.want || v.Message == "" {
			t.Errorf("%s: %+v, want %s", name, v, tt.want)
		}
	}
}

func TestAnalyze(t *testing.T) {
	type windows = []instanceapi.RequestWindow
	one := Limits{MaxErrorPercent: 1}
	both := Limits{MaxErrorPercent: 1, MaxLatencyRatio: 1.5}
	fast := func(requests, errors int64) windows { return windows{window(requests, errors, .002)} }
	tests := map[string]struct {
		canary, others windows
		limits         Limits
		want           Outcome
		message        string
	}{
		// The number of requests.
		"nothing at all": {nil, nil, one, Undecided, "fewer than 20 requests have reached the canary: not enough to compare"},
		"no request":     {fast(0, 0), fast(1000, 0), one, Undecided, ""},
		"19 of 19":       {fast(19, 19), fast(1000, 0), one, Undecided, ""},
		"20 of 20": {fast(20, 20), fast(1000, 0), one, Bad,
			"100 % of about 20 requests to the canary were answered with 5xx, none of those to the other pods; at most 1 percentage point more is allowed"},
		"none of 20": {fast(20, 0), fast(1000, 0), one, Good,
			"none of about 20 requests to the canary were answered with 5xx, none of those to the other pods"},
		"few others":           {fast(1000, 0), fast(19, 0), one, Undecided, "fewer than 20 requests have reached the other pods: not enough to compare"},
		"few others, all bad":  {fast(1000, 1000), fast(19, 0), one, Bad, ""},
		"few others, as bad":   {fast(1000, 500), fast(19, 9), one, Undecided, ""},
		"two pods are summed":  {windows{window(10, 5, .1), window(10, 5, .1)}, windows{window(500, 0, .1), window(500, 0, .1)}, one, Bad, ""},
		"one of two canaries":  {windows{window(500, 100, .1), window(500, 0, .1)}, fast(5000, 0), one, Bad, "10 % of about 1,000 requests to the canary were answered with 5xx, none of those to the other pods; at most 1 percentage point more is allowed"},
		"others without a one": {fast(100, 0), fast(0, 0), both, Undecided, "fewer than 20 requests have reached the other pods: not enough to compare"},

		// Chance.
		"1 of 20":             {fast(20, 1), fast(1000, 0), one, Good, ""},
		"3 of 20":             {fast(20, 3), fast(1000, 0), one, Good, ""},
		"4 of 20":             {fast(20, 4), fast(1000, 0), one, Bad, ""},
		"1, and none allowed": {fast(20, 1), fast(1000, 0), Limits{}, Good, ""},
		"3, and none allowed": {fast(20, 3), fast(1000, 0), Limits{}, Bad, "15 % of about 20 requests to the canary were answered with 5xx, none of those to the other pods; no more is allowed"},
		"3 of many":           {fast(10_000, 3), fast(10_000, 0), Limits{}, Good, ""},
		"8 of many":           {fast(10_000, 8), fast(100_000, 0), Limits{}, Bad, "less than 0.1 % of about 10,000 requests to the canary were answered with 5xx, none of those to the other pods; no more is allowed"},

		// The limit.
		"at the limit":        {fast(10_000, 110), fast(10_000, 10), one, Good, ""},
		"a bit beyond":        {fast(1000, 15), fast(1000, 1), one, Good, ""},
		"a bit beyond, long":  {fast(100_000, 1500), fast(100_000, 100), one, Bad, "1.5 % of about 100,000 requests to the canary were answered with 5xx, 0.1 % of those to the other pods; at most 1 percentage point more is allowed"},
		"clearly beyond":      {fast(1203, 171), fast(12_030, 13), one, Bad, "14 % of about 1,200 requests to the canary were answered with 5xx, 0.1 % of those to the other pods; at most 1 percentage point more is allowed"},
		"within a wide limit": {fast(1000, 140), fast(10_000, 10), Limits{MaxErrorPercent: 20}, Good, ""},
		"beyond a wide limit": {fast(1000, 400), fast(10_000, 10), Limits{MaxErrorPercent: 20}, Bad, "40 % of about 1,000 requests to the canary were answered with 5xx, 0.1 % of those to the other pods; at most 20 percentage points more are allowed"},
		"everything allowed":  {fast(1000, 1000), fast(10_000, 0), Limits{MaxErrorPercent: 100}, Good, ""},

		// Errors that all pods have.
		"backend is broken":    {fast(1000, 300), fast(10_000, 3000), one, Good, "30 % of about 1,000 requests to the canary were answered with 5xx, 30 % of those to the other pods"},
		"all fail":             {fast(1000, 1000), fast(1000, 1000), one, Good, ""},
		"the canary heals":     {fast(1000, 0), fast(1000, 1000), one, Good, ""},
		"worse than a bad one": {fast(1000, 500), fast(10_000, 3000), one, Bad, ""},

		// Without other pods.
		"alone":               {fast(1000, 2), nil, one, Good, "0.2 % of about 1,000 requests to the canary were answered with 5xx"},
		"alone and bad":       {fast(1000, 142), nil, one, Bad, "14 % of about 1,000 requests to the canary were answered with 5xx; at most 1 % are allowed"},
		"alone, none allowed": {fast(1000, 142), nil, Limits{}, Bad, "14 % of about 1,000 requests to the canary were answered with 5xx; none is allowed"},
		"alone and slow":      {windows{window(1000, 0, 10)}, nil, both, Good, "none of about 1,000 requests to the canary were answered with 5xx"},

		// Latency.
		"as fast": {windows{window(1000, 0, .03)}, windows{window(1000, 0, .03)}, both, Good,
			"none of about 1,000 requests to the canary were answered with 5xx, none of those to the other pods; 90 % of the requests to the canary took up to 35 ms, of those to the other pods up to 35 ms"},
		"twice as slow": {windows{window(1000, 0, .06)}, windows{window(1000, 0, .03)}, both, Bad,
			"90 % of the requests to the canary took up to 68 ms, of those to the other pods up to 35 ms; at most 1.5 times as long is allowed"},
		"twice as slow, not judged":   {windows{window(1000, 0, .06)}, windows{window(1000, 0, .03)}, one, Good, ""},
		"twice as slow, allowed":      {windows{window(1000, 0, .06)}, windows{window(1000, 0, .03)}, Limits{1, 3}, Good, ""},
		"faster":                      {windows{window(1000, 0, .01)}, windows{window(1000, 0, .03)}, both, Good, ""},
		"seconds":                     {windows{window(1000, 0, 6)}, windows{window(1000, 0, 1.2)}, both, Bad, "90 % of the requests to the canary took up to 5.9 s, of those to the other pods up to 1.2 s; at most 1.5 times as long is allowed"},
		"noise":                       {windows{window(1000, 0, .005)}, windows{window(1000, 0, .001)}, both, Good, ""},
		"more than noise":             {windows{window(1000, 0, .02)}, windows{window(1000, 0, .001)}, both, Bad, ""},
		"few slow ones":               {windows{spread(1000, .01, 1, .08)}, windows{spread(1000, .01, 1, .01)}, both, Good, ""},
		"many slow ones":              {windows{spread(1000, .01, 1, .2)}, windows{spread(1000, .01, 1, .01)}, both, Bad, ""},
		"slow ones by chance":         {windows{spread(60, .01, 1, .12)}, windows{spread(60, .01, 1, .01)}, both, Good, ""},
		"49 are too few":              {windows{window(49, 0, 1)}, windows{window(1000, 0, .03)}, both, Undecided, "fewer than 50 requests to the canary were answered without an error: not enough to compare how long they take"},
		"50 are enough":               {windows{window(50, 0, 1)}, windows{window(1000, 0, .03)}, both, Bad, ""},
		"49 others are too few":       {windows{window(1000, 0, 1)}, windows{window(49, 0, .03)}, both, Undecided, "fewer than 50 requests to the other pods were answered without an error: not enough to compare how long they take"},
		"few, but errors":             {windows{window(49, 20, 1)}, windows{window(1000, 0, .03)}, both, Bad, ""},
		"slow and erroneous":          {windows{window(1000, 500, 1)}, windows{window(1000, 0, .03)}, both, Bad, "50 % of about 1,000 requests to the canary were answered with 5xx, none of those to the other pods; at most 1 percentage point more is allowed"},
		"longer than it is measured":  {windows{window(1000, 0, 3600)}, windows{window(1000, 0, 30)}, both, Bad, "90 % of the requests to the canary took up to 70 s, of those to the other pods up to 35 s; at most 1.5 times as long is allowed"},
		"all longer than is measured": {windows{window(1000, 0, 7200)}, windows{window(1000, 0, 3600)}, both, Good, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Analyze(tt.canary, tt.others, tt.limits)
			if got.Outcome != tt.want || got.Message == "" || (tt.message != "" && got.Message != tt.message) {
				t.Errorf("%s: %s\nwant %s: %s", got.Outcome, got.Message, tt.want, tt.message)
			}
		})
	}
}

// random returns a realistic window whose latency varies around one random median.
func random(r *rand.Rand) instanceapi.RequestWindow {
	n := int64(math.Pow(10, 4*r.Float64()))
	w := instanceapi.RequestWindow{Seconds: 60, Requests: n, Errors: int64(float64(n) * r.Float64() * r.Float64() * r.Float64())}
	median := .002 * math.Pow(1000, r.Float64())
	for range n - w.Errors {
		w.Latency.Observe(median*math.Exp(r.NormFloat64()/2), 1)
	}
	return w
}

func randomLimits(r *rand.Rand) Limits {
	limits := Limits{MaxErrorPercent: int32(r.IntN(20))}
	if r.IntN(2) == 0 {
		limits.MaxLatencyRatio = 1 + 3*r.Float64()
	}
	return limits
}

// split divides a window among several pods.
func split(r *rand.Rand, w instanceapi.RequestWindow, pods int) []instanceapi.RequestWindow {
	windows := make([]instanceapi.RequestWindow, pods)
	windows[0].Seconds = w.Seconds
	for range w.Errors {
		one := &windows[r.IntN(pods)]
		one.Requests++
		one.Errors++
	}
	for bucket, n := range w.Latency {
		for range n {
			one := &windows[r.IntN(pods)]
			one.Requests++
			one.Latency[bucket]++
		}
	}
	r.Shuffle(pods, func(i, j int) { windows[i], windows[j] = windows[j], windows[i] })
	return windows
}

// TestPodsDoNotMatter: the verdict does not depend on how the requests are divided among pods.
func TestPodsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		c, o, limits := random(r), random(r), randomLimits(r)
		want := Analyze([]instanceapi.RequestWindow{c}, []instanceapi.RequestWindow{o}, limits)
		got := Analyze(split(r, c, 1+r.IntN(5)), split(r, o, 1+r.IntN(5)), limits)
		if got != want {
			t.Fatalf("several pods are %+v, one is %+v", got, want)
		}
	}
}

// rank orders the outcomes from bad to good.
var rank = map[Outcome]int{Bad: 0, Undecided: 1, Good: 2}

// TestMoreErrorsAreNeverBetter: a bad canary stays bad if more of its requests fail, or if less is
// allowed.
func TestMoreErrorsAreNeverBetter(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	seen := map[Outcome]int{}
	for range 3000 {
		c, o, limits := random(r), random(r), randomLimits(r)
		if r.IntN(10) == 0 {
			o = instanceapi.RequestWindow{}
		}
		analyze := func() Verdict {
			return Analyze([]instanceapi.RequestWindow{c}, []instanceapi.RequestWindow{o}, limits)
		}
		before := analyze()
		seen[before.Outcome]++
		check := func(what string) {
			t.Helper()
			after := analyze()
			if before.Outcome == Bad && after.Outcome != Bad {
				t.Fatalf("%s: from %+v to %+v", what, before, after)
			}
			before = after
		}
		more := 1 + int64(float64(c.Requests)*r.Float64())
		c.Requests, c.Errors = c.Requests+more, c.Errors+more
		check("more errors")
		// Fail more of the same requests: those that are not in the histogram.
		if spare := c.Requests - c.Errors; spare > 0 && limits.MaxLatencyRatio == 0 {
			c.Errors += 1 + r.Int64N(spare)
			check("failing")
		}
		limits.MaxErrorPercent = int32(r.IntN(int(limits.MaxErrorPercent) + 1))
		check("less allowed")
	}
	if len(seen) != len(rank) {
		t.Errorf("not all outcomes were met: %v", seen)
	}
}

// TestSlowerIsNeverBetter: the outcome never improves if all requests to the canary take longer, or
// if less is allowed.
func TestSlowerIsNeverBetter(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		c, o, limits := random(r), random(r), Limits{100, 1 + 3*r.Float64()}
		analyze := func() Verdict {
			return Analyze([]instanceapi.RequestWindow{c}, []instanceapi.RequestWindow{o}, limits)
		}
		before := analyze()
		slower := instanceapi.Histogram{}
		by := 1 + r.IntN(4)
		for bucket, n := range c.Latency {
			slower[min(bucket+by, len(slower)-1)] += n
		}
		c.Latency = slower
		after := analyze()
		if rank[after.Outcome] > rank[before.Outcome] {
			t.Fatalf("slower: from %+v to %+v", before, after)
		}
		limits.MaxLatencyRatio *= r.Float64()
		if last := analyze(); rank[last.Outcome] > rank[after.Outcome] {
			t.Fatalf("less allowed: from %+v to %+v", after, last)
		}
	}
}

// app is an application whose requests fail, and take time, at random.
type app struct {
	errors, median, sigma float64
}

func (a app) serve(r *rand.Rand, w *instanceapi.RequestWindow, n int) {
	for range n {
		w.Requests++
		if r.Float64() < a.errors {
			w.Errors++
			continue
		}
		w.Latency.Observe(a.median*math.Exp(a.sigma*r.NormFloat64()), 1)
	}
}

// analyses is the number of analyses of a canary in a minute.
const analyses = 30

// analyzeRepeatedly analyzes a canary repeatedly while both versions serve. It returns the last outcome and the
// number of requests to the canary until then.
func analyzeRepeatedly(r *rand.Rand, old, changed app, each int, limits Limits) (Outcome, int64) {
	var c, o instanceapi.RequestWindow
	last := Undecided
	for range analyses {
		changed.serve(r, &c, r.IntN(2*each+1))
		old.serve(r, &o, r.IntN(8*each+1))
		last = Analyze([]instanceapi.RequestWindow{c}, []instanceapi.RequestWindow{o}, limits).Outcome
		if last == Bad {
			break
		}
	}
	return last, c.Requests
}

// TestChanceEndsFewCanaries: at most 3 % of the canaries that are as good as the other pods end.
func TestChanceEndsFewCanaries(t *testing.T) {
	const runs = 200
	for name, tt := range map[string]struct {
		app    app
		limits Limits
	}{
		"no errors":           {app{0, .02, 1}, Limits{0, 1.5}},
		"some errors":         {app{.01, .02, 1}, Limits{1, 1.5}},
		"some errors, strict": {app{.01, .02, 1}, Limits{0, 1.2}},
		"many errors":         {app{.2, .02, .5}, Limits{1, 1.5}},
		"all but no slower":   {app{.001, .1, 1.5}, Limits{1, 1}},
	} {
		for _, each := range []int{1, 10, 100} {
			r := rand.New(rand.NewPCG(9, uint64(each)))
			bad := 0
			for range runs {
				if got, _ := analyzeRepeatedly(r, tt.app, tt.app, each, tt.limits); got == Bad {
					bad++
				}
			}
			t.Logf("%s, %d requests per analysis: %.2f %% of the canaries end by chance", name, each, 100*float64(bad)/runs)
			if bad > runs*3/100 {
				t.Errorf("%s, %d requests per analysis: %d of %d good canaries ended", name, each, bad, runs)
			}
		}
	}
}

// TestBadCanariesAreFound: each canary that is worse than the other pods is found within its number
// of requests.
func TestBadCanariesAreFound(t *testing.T) {
	const runs = 100
	good := app{.001, .02, 1}
	for name, tt := range map[string]struct {
		app  app
		most int64
	}{
		"all fail":            {app{1, .02, 1}, 120},
		"a third fails":       {app{.33, .02, 1}, 200},
		"a tenth fails":       {app{.1, .02, 1}, 300},
		"one of 25 fails":     {app{.04, .02, 1}, 1500},
		"four times as slow":  {app{.001, .08, 1}, 400},
		"three times as slow": {app{.001, .06, 1}, 800},
	} {
		r := rand.New(rand.NewPCG(11, 12))
		var sum int64
		for range runs {
			got, after := analyzeRepeatedly(r, good, tt.app, 50, Limits{1, 1.5})
			if got != Bad || after > tt.most {
				t.Errorf("%s: %s after %d requests, at most %d were expected", name, got, after, tt.most)
			}
			sum += after
		}
		t.Logf("%s: found after %d requests", name, sum/runs)
	}
}

func TestMessages(t *testing.T) {
	for got, want := range map[string]string{
		number(0):            "0",
		number(7):            "7",
		number(99):           "99",
		number(104):          "100",
		number(1_203):        "1,200",
		number(1_260_000):    "1,300,000",
		percent(0, 10):       "none",
		percent(1, 3000):     "less than 0.1 %",
		percent(994, 10_000): "9.9 %",
		percent(999, 10_000): "10 %",
		percent(5, 5):        "100 %",
		seconds(0):           "0 ms",
		seconds(.00123):      "1.2 ms",
		seconds(.0456):       "46 ms",
		seconds(.9994):       "1000 ms",
		seconds(.9996):       "1 s",
		seconds(12.7):        "13 s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
