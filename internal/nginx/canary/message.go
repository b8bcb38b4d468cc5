package canary

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/nginx-operator/internal/instanceapi"
)

func tooFewRequestsMessage(whose string) string {
	return fmt.Sprintf("fewer than %d requests have reached the %s: not enough to compare", LeastRequests, whose)
}

func tooFewSuccessesMessage(whose string) string {
	return fmt.Sprintf("fewer than %d requests to the %s were answered without an error: not enough to compare how long they take", leastAnswers, whose)
}

// failures describes which share of the requests failed.
func failures(c, o *instanceapi.RequestWindow) string {
	text := fmt.Sprintf("%s of about %s requests to the canary were answered with 5xx", percent(c.Errors, c.Requests), number(c.Requests))
	if o.Requests == 0 {
		return text
	}
	return fmt.Sprintf("%s, %s of those to the other pods", text, percent(o.Errors, o.Requests))
}

// inProgressMessage describes requests without an answer.
func inProgressMessage(c, o *instanceapi.RequestWindow, canaries, others int64) string {
	return fmt.Sprintf("about %s requests to each canary wait for an answer, about %s to each of the other pods, and fewer than half as many have been answered",
		number(c.InProgress/canaries), number(o.InProgress/others))
}

func allowance(o *instanceapi.RequestWindow, limits Limits) string {
	alone, points := o.Requests == 0, limits.MaxErrorPercent
	switch {
	case alone && points == 0:
		return "; none is allowed"
	case alone:
		return fmt.Sprintf("; at most %d %% are allowed", points)
	case points == 0:
		return "; no more is allowed"
	case points == 1:
		return "; at most 1 percentage point more is allowed"
	default:
		return fmt.Sprintf("; at most %d percentage points more are allowed", points)
	}
}

// latencyMessage describes how long the requests without an error took.
func latencyMessage(c, o *instanceapi.RequestWindow) string {
	const q = 1 - slowest
	return fmt.Sprintf("%.0f %% of the requests to the canary took up to %s, of those to the other pods up to %s",
		100*q, seconds(c.Latency.Quantile(q)), seconds(o.Latency.Quantile(q)))
}

func latencyLimitMessage(limits Limits) string {
	return fmt.Sprintf("; at most %s times as long is allowed", strconv.FormatFloat(limits.MaxLatencyRatio, 'g', 3, 64))
}

func join(verdicts []Verdict) string {
	texts := make([]string, 0, len(verdicts))
	for _, v := range verdicts {
		texts = append(texts, v.Message)
	}
	return strings.Join(texts, "; ")
}

// percent formats a share, rounded so that a few more requests do not change it.
func percent(part, all int64) string {
	p := 100 * float64(part) / float64(all)
	switch {
	case part == 0:
		return "none"
	case p < 0.1:
		return "less than 0.1 %"
	case p < 9.95:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// number formats n with two significant digits and a comma after each group of three.
func number(n int64) string {
	digits := strconv.FormatFloat(significant(float64(n)), 'f', 0, 64)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func seconds(s float64) string {
	if s < 0.9995 {
		return strconv.FormatFloat(significant(1000*s), 'f', -1, 64) + " ms"
	}
	return strconv.FormatFloat(significant(s), 'f', -1, 64) + " s"
}

// significant rounds to two significant digits.
func significant(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	if unit < 1 {
		// Divide by an exact power of ten, so that the text does not end in a row of nines.
		unit = math.Round(1 / unit)
		return math.Round(x*unit) / unit
	}
	return math.Round(x/unit) * unit
}
