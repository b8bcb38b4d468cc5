package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Class is what a request costs, as far as an operator that has nothing to do is
// concerned.
type Class string

// The classes.
const (
	// Write changes something.
	Write Class = "writes"
	// Read answers with objects.
	Read Class = "reads"
	// Watch goes on from where an earlier one ended: it reads nothing by itself.
	Watch Class = "watch renewals"
	// Lease is leader election, which goes on for as long as an operator runs.
	Lease Class = "lease requests"
	// LeaseEvent tells that the leader changed.
	LeaseEvent Class = "lease events"
	// Review asks whether a client of the operator's is let in: it is caused by that client.
	Review Class = "access reviews"
)

// Classify sorts a request. home is the namespace that the operator runs in.
func Classify(e Event, home string) Class {
	if class, ok := aside(e, home); ok {
		return class
	}
	switch {
	case e.Lists() || e.Verb == "get" || e.Verb == "head":
		return Read
	case e.Verb == "watch":
		return Watch
	}
	// Whatever is not known to be harmless counts.
	return Write
}

// aside tells the requests that are no consequence of what the operator manages. It
// manages nothing at home, so that an event there is one of leader election.
func aside(e Event, home string) (Class, bool) {
	inHome := e.Object != nil && e.Object.Namespace == home
	switch e.Resource() {
	case "leases":
		return Lease, inHome
	case "events":
		return LeaseEvent, inHome && (e.Verb == "create" || e.Verb == "patch")
	case "tokenreviews", "subjectaccessreviews":
		return Review, true
	}
	return "", false
}

// ByClass groups requests.
func ByClass(events []Event, home string) map[Class][]Event {
	classes := map[Class][]Event{}
	for _, e := range events {
		class := Classify(e, home)
		classes[class] = append(classes[class], e)
	}
	return classes
}

// tallyLines is how many lines a tally has at most.
const tallyLines = 20

// Tally counts requests by verb, resource, namespace and answer: a line each, the most
// frequent first. The rest of a long tally is one line.
func Tally(events []Event) []string {
	counts, lines := frequencies(events)
	rest := 0
	for i, line := range lines {
		if i >= tallyLines {
			rest += counts[line]
		}
		lines[i] = fmt.Sprintf("%d × %s", counts[line], line)
	}
	if rest > 0 {
		lines = append(lines[:tallyLines], fmt.Sprintf("%d × others", rest))
	}
	return lines
}

// Each tells how often each kind of request was made for each of n things, on average: a line
// each, the most frequent first.
func Each(events []Event, n int) []string {
	counts, lines := frequencies(events)
	for i, line := range lines {
		lines[i] = fmt.Sprintf("%.3f × %s", float64(counts[line])/float64(n), line)
	}
	return lines
}

// frequencies are the kinds of requests and how many there were of each, the most frequent first.
func frequencies(events []Event) (map[string]int, []string) {
	counts := map[string]int{}
	for _, e := range events {
		counts[describe(e)]++
	}
	return counts, slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// In are the requests about one namespace.
func In(namespace string, events []Event) []Event {
	return slices.DeleteFunc(slices.Clone(events), func(e Event) bool {
		return e.Object == nil || e.Object.Namespace != namespace
	})
}

func describe(e Event) string {
	if e.Object == nil {
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return fmt.Sprintf("%s %s (%d)", e.Verb, path, e.Response.Code)
	}
	text := e.Verb + " " + e.Resource()
	if e.Object.Namespace != "" {
		text += " in " + e.Object.Namespace
	}
	return fmt.Sprintf("%s (%d)", text, e.Response.Code)
}

// Durations tells how long the API server took, on average, for each kind of
// request: a line each, the slowest first.
func Durations(events []Event) []string {
	kinds := map[string][]Event{}
	for _, e := range events {
		kind := e.Verb + " " + e.Resource()
		kinds[kind] = append(kinds[kind], e)
	}
	lines := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(MeanDuration(kinds[b]), MeanDuration(kinds[a])), strings.Compare(a, b))
	})
	for i, kind := range lines {
		lines[i] = fmt.Sprintf("%.1f ms for %s", MeanDuration(kinds[kind]).Seconds()*1000, kind)
	}
	return lines
}

// MeanDuration is how long the API server took for a request on average.
func MeanDuration(events []Event) time.Duration {
	if len(events) == 0 {
		return 0
	}
	var sum time.Duration
	for _, e := range events {
		sum += e.Done.Sub(e.Received)
	}
	return sum / time.Duration(len(events))
}
