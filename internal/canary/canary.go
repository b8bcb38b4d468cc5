// Package canary judges the first pods that run something new, the canary, by what became
// of their requests meanwhile, compared with those of the other pods at the same time. It
// is pure. The same rules serve for a new version and for a new configuration.
//
// Errors. The share of the canary's requests that were answered with 5xx may exceed that
// of the others by MaxErrorPercent percentage points. What is wrong with a backend is
// wrong for all pods, and no reason to go back.
//
// Latency. The 90th percentile of the canary may be MaxLatencyRatio times that of the
// others, which counts as 5 ms at least: differences between shorter times are noise. Only
// requests without an error are looked at, as an error may be fast.
//
// Chance. A canary is looked at again and again while requests come in, and must not end
// because of three unlucky ones. So it is bad only if its difference from the others is
// beyond the limit by more than chance explains: if the lower end of the 99.7 % confidence
// interval of the difference of the two shares is (Newcombe's score interval, Statistics in
// Medicine 17 (1998) 873-890, method 10, which holds for small numbers and shares near 0
// as well), and at least three requests have failed beyond what is allowed. For
// latency, the share that is compared is that of requests longer than the limit. In
// effect, where one request in a hundred may fail, a canary that fails always is found with
// its first 20 requests, one that fails every tenth time after about 100, and one that
// fails every 25th time after about 250; a look every two seconds for a minute ends less
// than one in fifty of those that are as good as the others, even if nothing is allowed.
//
// Too few. Under 20 requests of the canary nothing is judged. With fewer of the others
// than that, or fewer than 50 without an error on either side where latency is to be
// judged, a canary may be bad, but not good yet. Where no other pod has served a request,
// errors are judged against none, and latency is not judged; where there is no other pod, it may
// be good as well.
package canary

import "example.com/nginx-operator/internal/instanceapi"

// Limits are how much worse than the other pods a canary may be.
type Limits struct {
	// MaxErrorPercent is in percentage points.
	MaxErrorPercent int32
	// MaxLatencyRatio is that of the 90th percentiles; 0: latency is not judged.
	MaxLatencyRatio float64
}

// Outcome of a judgement.
type Outcome string

// The outcomes.
const (
	// Undecided: there are too few requests to tell.
	Undecided Outcome = "Undecided"
	Good      Outcome = "Good"
	Bad       Outcome = "Bad"
	// NotMeasured: there are no request metrics, so there never will be enough requests.
	NotMeasured Outcome = "NotMeasured"
)

// Verdict is an outcome, and the reason for people.
type Verdict struct {
	Outcome Outcome
	// Message has rounded figures, and is the same as long as they are.
	Message string
	// Canary and Others are what the outcome was found from.
	Canary, Others Figures
}

// Figures are those of all canaries, or of all other pods.
type Figures struct {
	// Requests, and Errors, those that were answered with 5xx.
	Requests, Errors int64
}

// Unknown is the verdict where no instance answers, or where none measures its requests.
func Unknown(measured bool) Verdict {
	if !measured {
		return Verdict{Outcome: NotMeasured, Message: "requests are not measured (metrics.requests): being ready for durationSeconds counts"}
	}
	return Verdict{Outcome: Undecided, Message: "no instance manager answers how many requests there were"}
}

const (
	leastRequests = 20
	// leastAnswers without an error are needed to compare times.
	leastAnswers = 50
	// leastExcess is how many requests have to fail beyond what is allowed.
	leastExcess = 3
	// slowest is the share of requests that may take longer than the 90th percentile.
	slowest = 0.1
	// noise is the shortest time that times are compared with, in seconds.
	noise = 0.005
)

// Judge compares the requests of the canary with those that the others served in the same
// time: a window for each pod. Others must have a window of every other pod that serves,
// or the canary is blamed for errors that all pods make.
func Judge(canary, others []instanceapi.RequestWindow, limits Limits) Verdict {
	c, o := merge(canary), merge(others)
	v := judge(&c, &o, len(others) > 0, limits)
	v.Canary, v.Others = Figures{c.Requests, c.Errors}, Figures{o.Requests, o.Errors}
	return v
}

func judge(c, o *instanceapi.RequestWindow, compared bool, limits Limits) Verdict {
	if c.Requests < leastRequests {
		return undecided(fewRequests("canary"))
	}
	verdicts := []Verdict{judgeErrors(c, o, compared, limits)}
	if limits.MaxLatencyRatio > 0 && o.Requests > 0 {
		verdicts = append(verdicts, judgeLatency(c, o, limits))
	}
	for _, outcome := range []Outcome{Bad, Undecided} {
		for _, v := range verdicts {
			if v.Outcome == outcome {
				return v
			}
		}
	}
	return Verdict{Outcome: Good, Message: join(verdicts)}
}

func undecided(message string) Verdict { return Verdict{Outcome: Undecided, Message: message} }

func merge(windows []instanceapi.RequestWindow) instanceapi.RequestWindow {
	var all instanceapi.RequestWindow
	for _, w := range windows {
		all.Merge(w)
	}
	return all
}

// judgeErrors compares the shares of errors. compared tells whether there are other pods.
func judgeErrors(c, o *instanceapi.RequestWindow, compared bool, limits Limits) Verdict {
	allowed := float64(limits.MaxErrorPercent) / 100
	failed, failedToo := share{float64(c.Errors), float64(c.Requests)}, share{float64(o.Errors), float64(o.Requests)}
	excess := failed.part - (failedToo.value()+allowed)*failed.all
	switch {
	case excess >= leastExcess && surelyAbove(failed, failedToo, allowed, confidence):
		return Verdict{Outcome: Bad, Message: failures(c, o) + allowance(o, limits)}
	case compared && o.Requests < leastRequests:
		return undecided(fewRequests("other pods"))
	default:
		return Verdict{Outcome: Good, Message: failures(c, o)}
	}
}

func judgeLatency(c, o *instanceapi.RequestWindow, limits Limits) Verdict {
	answers, answersToo := c.Latency.Count(), o.Latency.Count()
	switch {
	case answers < leastAnswers:
		return undecided(fewAnswers("canary"))
	case answersToo < leastAnswers:
		return undecided(fewAnswers("other pods"))
	}
	limit := limits.MaxLatencyRatio * max(noise, o.Latency.Quantile(1-slowest))
	slow := share{c.Latency.Above(limit), float64(answers)}
	slowToo := share{slowest * float64(answersToo), float64(answersToo)}
	if surelyAbove(slow, slowToo, 0, confidence) {
		return Verdict{Outcome: Bad, Message: times(c, o) + ratio(limits)}
	}
	return Verdict{Outcome: Good, Message: times(c, o)}
}
