// Package canary compares the requests of the first pods that run something new, the canary, with
// the requests that the other pods served in the same time. It is pure. The same rules apply to a
// new version and to a new configuration.
//
// Errors. The canary's share of requests answered with 5xx may exceed that of the other pods by
// MaxErrorPercent percentage points. A broken backend affects all pods and is no reason to roll
// back.
//
// Latency. The canary's 90th percentile may be MaxLatencyRatio times that of the other pods, which
// counts as at least 5 ms: differences between shorter times are noise. Only requests without an
// error count, since an error may be fast.
//
// Chance. A canary is analyzed repeatedly while requests arrive, and three unlucky requests must
// not end it. So it is bad only if chance does not explain how far it exceeds the limit: if the
// lower end of the 99.7 % confidence interval of the difference of the two shares is above the
// limit (Newcombe's score interval, Statistics in Medicine 17 (1998) 873-890, method 10, which also
// holds for small numbers and for shares near 0), and at least three more requests have failed than
// allowed. For latency, the compared share is that of the requests longer than the limit. In
// effect, where one request in a hundred may fail, a canary that always fails is found with its
// first 20 requests, one that fails every tenth time after about 100, and one that fails every 25th
// time after about 250. An analysis every two seconds for a minute ends fewer than one in fifty of
// the canaries that are as good as the other pods, even if nothing is allowed.
//
// Missing answers. A request is counted when it ends. A canary is bad without such counts if it handles far more requests
// at the same time than the other pods, and answers fewer than half as many. Both have as many that take long by nature, such
// as websockets.
//
// Too few. With fewer than 20 requests to the canary there is no verdict. With fewer than 20 to the
// other pods, or, where latency is compared, fewer than 50 without an error on either side, a
// canary may be bad but not yet good. If the other pods have served no request, errors are compared
// with none and latency is not compared; if there is no other pod, the canary may also be good.
package canary

import "example.com/nginx-operator/internal/instanceapi"

// Limits bounds how much worse than the other pods a canary may be.
type Limits struct {
	// MaxErrorPercent is in percentage points.
	MaxErrorPercent int32
	// MaxLatencyRatio is the ratio of the 90th percentiles; 0: latency is not compared.
	MaxLatencyRatio float64
}

// Outcome is the result of an analysis.
type Outcome string

// The outcomes of an analysis.
const (
	// Undecided: there are too few requests for a verdict.
	Undecided Outcome = "Undecided"
	Good      Outcome = "Good"
	Bad       Outcome = "Bad"
	// NotMeasured: there are no request metrics, so there will never be enough requests.
	NotMeasured Outcome = "NotMeasured"
)

// Verdict is an outcome with its reason, for users.
type Verdict struct {
	Outcome Outcome
	// Message contains rounded figures, so that it changes only when they do.
	Message string
	// Canary and Others are the figures that the outcome is based on.
	Canary, Others Figures
}

// Figures are the totals of all canaries, or of all other pods.
type Figures struct {
	// Requests is the number of requests, and Errors the number of those answered with 5xx.
	Requests, Errors int64
}

// NoDataVerdict returns the verdict for when no instance answers, or when none measures its requests.
func NoDataVerdict(measured bool) Verdict {
	if !measured {
		return Verdict{Outcome: NotMeasured, Message: "requests are not measured (metrics.requests): being ready for durationSeconds counts"}
	}
	return Verdict{Outcome: Undecided, Message: "no instance manager answers how many requests there were"}
}

// LeastRequests is the number of requests to a side that a comparison of errors needs.
const LeastRequests = 20

const (
	// leastAnswers is the number of requests without an error that a comparison of latency needs.
	leastAnswers = 50
	// leastExcess is the number of requests beyond the limit that must have failed.
	leastExcess = 3
	// slowest is the share of requests that may take longer than the 90th percentile.
	slowest = 0.1
	// noise is the shortest time, in seconds, that latency is compared with.
	noise = 0.005
)

// Analyze compares the requests of the canary with those that the other pods served in the same
// time. Each pod has one window. The others must include every other pod that serves, or the canary
// is blamed for errors that all pods have.
func Analyze(canary, others []instanceapi.RequestWindow, limits Limits) Verdict {
	c, o := merge(canary), merge(others)
	v := analyzeInProgress(&c, &o, int64(len(canary)), int64(len(others)))
	if v.Outcome != Bad {
		v = analyze(&c, &o, len(others) > 0, limits)
	}
	v.Canary, v.Others = Figures{c.Requests, c.Errors}, Figures{o.Requests, o.Errors}
	return v
}

func analyze(c, o *instanceapi.RequestWindow, compared bool, limits Limits) Verdict {
	if c.Requests < LeastRequests {
		return undecided(tooFewRequestsMessage("canary"))
	}
	verdicts := []Verdict{analyzeErrors(c, o, compared, limits)}
	if limits.MaxLatencyRatio > 0 && o.Requests > 0 {
		verdicts = append(verdicts, analyzeLatency(c, o, limits))
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

const (
	// manyInProgress is how many times as many requests as in the other pods must be in progress, and leastInProgress how
	// many more than these.
	manyInProgress  = 3
	leastInProgress = 10
)

// analyzeInProgress compares how many requests are in progress in a number of canaries and of other pods.
func analyzeInProgress(c, o *instanceapi.RequestWindow, canaries, others int64) Verdict {
	if o.Requests < LeastRequests || others == 0 || canaries == 0 {
		return Verdict{}
	}
	hanging := c.InProgress*others-manyInProgress*o.InProgress*canaries >= leastInProgress*others
	silent := 2*c.Requests*others < o.Requests*canaries
	if !hanging || !silent {
		return Verdict{}
	}
	return Verdict{Outcome: Bad, Message: inProgressMessage(c, o, canaries, others)}
}

func undecided(message string) Verdict { return Verdict{Outcome: Undecided, Message: message} }

func merge(windows []instanceapi.RequestWindow) instanceapi.RequestWindow {
	var all instanceapi.RequestWindow
	for _, w := range windows {
		all.Merge(w)
	}
	return all
}

// analyzeErrors compares the shares of errors. compared reports whether there are other pods.
func analyzeErrors(c, o *instanceapi.RequestWindow, compared bool, limits Limits) Verdict {
	allowed := float64(limits.MaxErrorPercent) / 100
	failed, failedToo := share{float64(c.Errors), float64(c.Requests)}, share{float64(o.Errors), float64(o.Requests)}
	excess := failed.part - (failedToo.value()+allowed)*failed.all
	switch {
	case excess >= leastExcess && surelyAbove(failed, failedToo, allowed, zScore):
		return Verdict{Outcome: Bad, Message: failures(c, o) + allowance(o, limits)}
	case compared && o.Requests < LeastRequests:
		return undecided(tooFewRequestsMessage("other pods"))
	default:
		return Verdict{Outcome: Good, Message: failures(c, o)}
	}
}

func analyzeLatency(c, o *instanceapi.RequestWindow, limits Limits) Verdict {
	answers, answersToo := c.Latency.Count(), o.Latency.Count()
	switch {
	case answers < leastAnswers:
		return undecided(tooFewSuccessesMessage("canary"))
	case answersToo < leastAnswers:
		return undecided(tooFewSuccessesMessage("other pods"))
	}
	limit := limits.MaxLatencyRatio * max(noise, o.Latency.Quantile(1-slowest))
	slow := share{c.Latency.Above(limit), float64(answers)}
	slowToo := share{slowest * float64(answersToo), float64(answersToo)}
	if surelyAbove(slow, slowToo, 0, zScore) {
		return Verdict{Outcome: Bad, Message: latencyMessage(c, o) + latencyLimitMessage(limits)}
	}
	return Verdict{Outcome: Good, Message: latencyMessage(c, o)}
}
